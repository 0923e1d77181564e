"""The matrix product: micro-kernels, packing, cache blocks, and how threads divide it.

``blocks`` has the kernels; ``layout`` says which of them does a product, and its argument words.
"""
