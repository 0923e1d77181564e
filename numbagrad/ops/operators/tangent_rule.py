"""The tangent of a pointwise operator, derived from the formula of its gradients.

``PointwiseOperator`` keeps one rule for each choice of operands that have a tangent.
"""

from __future__ import annotations

from typing import Any

from ...autograd import tensor_interface as tensors
from ...executor.families.pointwise import PointwiseProgram
from ...formula import Formula, symbol
from ...kernels.layout import MAX_OPERANDS
from ...tensor import Tensor, new_tensor
from .definition import PointwiseDefinition

__all__ = ["TangentRule"]


class TangentRule:
    """The tangent of an operator for one choice of operands that have one.

    The gradient of an input is its derivative times the incoming gradient, so the same formula with
    a tangent in place of that is what the input adds to the tangent of the result.

    ``operator(*used, *tangents)`` is the tangent; it is None where that takes too many operands.
    """

    __slots__ = ("operator", "program", "_uses")

    def __init__(self, operator: Any, which: tuple[bool, ...]):
        if not operator.definition.differentiable:
            raise NotImplementedError(
                f"Trying to use forward AD with {operator.name} that does not support it. detach() "
                "its inputs if no tangent should flow through it."
            )
        formula = operator.formula
        names = [name for name, needed in zip(formula.inputs, which, strict=True) if needed]
        gradients = formula.gradients(names, operator.definition.gradient)
        tangents = {name: _free_name(f"tangent_{name}", formula.inputs) for name in names}
        result = _free_name("result", formula.inputs)
        used = [name for name in gradients.inputs if name != "grad"]
        inputs = (
            *[result if name == "result" else name for name in used], *tangents.values()
        )  # fmt: skip
        total: Any = 0
        for name, gradient in zip(names, gradients.outputs, strict=True):
            replacements = {"grad": symbol(tangents[name]), "result": symbol(result)}
            term = Formula(gradients.inputs, [gradient]).substitute(replacements, inputs)
            total = total + term.outputs[0]
        #: Where each argument of the formula comes from: an operand, a tangent or the result.
        self._uses = [
            (2, 0) if name == "result" else (0, formula.inputs.index(name)) for name in used
        ] + [(1, formula.inputs.index(name)) for name in names]
        self.operator: Any = None
        if len(inputs) < MAX_OPERANDS:
            self.operator = _derived(operator, "jvp", Formula(inputs, [total]))
        #: The program of the value and the tangent, of the operands and then their tangents.
        self.program = self._program(operator, (*formula.inputs, *tangents.values()), result, total)

    @staticmethod
    def _program(
        operator: Any, inputs: tuple[str, ...], result: str, total: Any
    ) -> PointwiseProgram | None:
        """The kernel of the value and the tangent, which shares what both compute."""
        if len(inputs) + 2 > MAX_OPERANDS:
            return None
        formula = operator.formula
        value = formula.outputs[0]
        tangent = Formula((*inputs, result), [total]).substitute({result: value}, inputs)
        both = Formula(inputs, [value, tangent.outputs[0]])
        return _derived(operator, "and_jvp", both).program

    def __call__(self, primals: list[Any], tangents: list[Any], result: Tensor) -> Tensor:
        sources = (primals, tangents, (result,))
        made: Tensor = self.operator(
            *[sources[source][position] for source, position in self._uses]
        )
        shape, dtype = result._array.shape, result._array.dtype
        if made._array.shape != shape:  # the operands with a tangent are repeated
            made = made.expand(shape)
        return made if made._array.dtype == dtype else tensors.cast(made, dtype)

    def both(self, primals: list[Any], tangents: list[Any]) -> tuple[Tensor, Tensor] | None:
        """The value and the tangent of ordinary Tensors, not recorded; None without a kernel."""
        program = self.program
        if program is None:
            return None
        arrays = [x._array if isinstance(x, Tensor) else x for x in primals]
        arrays += [x._array for x in tangents if x is not None]
        value, tangent = program.run(*arrays)
        return new_tensor(value), new_tensor(tangent)


def _derived(operator: Any, suffix: str, formula: Formula) -> Any:
    """An operator of another formula, with the dtypes of this one."""
    definition = operator.definition
    name = f"{definition.name}_{suffix}"
    grad_fn = definition.grad_fn.rstrip("0123456789") + "Backward0"
    return operator.__class__(
        PointwiseDefinition(name, None, grad_fn=grad_fn, result=definition.result),  # type: ignore[arg-type]
        formula=formula,
    )


def _free_name(name: str, taken: tuple[str, ...]) -> str:
    order = 1
    while f"{name}{order}" in taken:
        order += 1
    return f"{name}{order}"
