"""Compiled code that knows how Python's objects lie in memory: launchers, threads, memory pool.

``objects`` and ``tensors`` make objects and take them apart; launchers are made of these. All but
the layouts is imported only to compile.
"""
