"""Transformations of operators: what happens when an operand is not an ordinary Tensor.

A Tensor inside ``vmap`` stands for a whole batch, one inside a forward-mode level carries a
tangent. Such a Tensor shows a ``Transformed`` array (``levels.py``), which no kernel takes, so its
operators arrive in ``dispatch/transformations.py`` without a cost to ordinary ones. There an
operator is turned into operators on the Tensors of the level below, by the rules in
``batching.py`` and ``tangents.py``.
``numbagrad.func`` and ``numbagrad.autograd.forward_ad`` open and close the levels.
"""
