"""The words that describe an image and a grid to the kernels of ``sampling.py``."""

from __future__ import annotations

from ...codegen.record import Record, Word

#: Paddings: elements beyond the borders are 0, those at the border, or mirrored ones.
ZEROS, BORDER, REFLECTION = 0, 1, 2


class Geometry(Record):
    """Sizes of an image, or volume, and the options of ``grid_sample``."""

    rank = Word()  # 2 or 3 coordinates
    depth = Word()  # layers, 1 of an image
    height = Word()
    width = Word()
    channels = Word()
    samples = Word()  # places of the grid, for each image
    padding = Word()  # ZEROS, BORDER or REFLECTION
    corners = Word()  # whether the outermost coordinates mean centres of elements
    nearest = Word()  # whether the nearest element is taken
    block = Word()  # channels of which the gradient is a thread's own
