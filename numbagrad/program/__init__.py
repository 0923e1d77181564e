"""Programs: many kernels over planned memory, run by one call with no Python between them.

A ``Trace`` or a ``AbstractTrace`` notes operations (``executor/plan/operations.py``) while
functions run; passes fuse, tile and order them, ``planning`` gives them memory, ``lowering`` turns
them into launches, and ``program`` runs these. Called by ``compiling`` for whole functions and by
``ops`` for operators that are made of others.
"""
