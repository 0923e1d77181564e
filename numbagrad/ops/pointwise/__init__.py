"""The pointwise operators: one entry each, with formula, gradient where the derived one would be
numerically worse or save more, and the domain from which the tests draw.

Read by the executor, which makes the kernels, and by the tests, which check every entry; `define`
keeps them in the register, and `analytic` says of formulas of floats that they hold for complex
operands, too. Names are ATen's; what torch computes at kinks, poles, infinities and
NaN is what the formulas compute. A tensor and a number share an entry wherever the formula does.
There is a file for each family.
"""

from . import arithmetic, comparison, bounds, elementary, bessel_functions, activation, loss  # noqa: F401, I001 - in order
