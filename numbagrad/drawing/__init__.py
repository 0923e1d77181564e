"""Pictures as SVG text, without any library: shapes (``svg``), and the layout of graphs.

``program/drawing.py`` draws programs and ``autograd/graph/picture.py`` recorded graphs with what
is here; it imports nothing of the package.
"""
