"""The engine: walks the graph of nodes backwards, and sums gradients.

``interface.py`` has torch's ``backward`` and ``grad``, ``backward.py`` the walk, ``walk.py`` where
it leads and what waits for its end, ``grad_dtype.py`` the dtypes of gradients.
"""
