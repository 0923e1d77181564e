"""How many blocks of memory the intrinsics of a kernel tell apart. Imports nothing."""

#: Blocks of memory that a kernel can tell apart by number (``intrinsics.load_apart``), from 1 on.
APART = 40
