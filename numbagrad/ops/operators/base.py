"""``Operator``: what all operators are to autograd, transformations and users.

Kinds of operators are its subclasses, which define what differs: a formula
(``pointwise_operator.py``), a forward on arrays with gradient functions (``tensor_operator.py``),
views (``view_operator.py``), sums (``reductions/reduction.py``), a definition in other operators
(``composite.py``), a function of a user's (``user_kernel.py``). ``dispatch/descent.py`` is the way
from a call to ``run``, the same for all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ...autograd.grad_mode import state as grad_mode
from ...autograd.node import Node, produce
from ...dispatch import descent
from ...dispatch.bits import HALF, INTERCEPTED, TRANSFORMED
from ...executor.cache import library
from ...executor.families.conversion import kind_of_results, narrowed
from ...executor.pair import signature_of
from ...tensor import Tensor, new_tensor
from ...transforms.tracking import requires_grad
from . import foresight

__all__ = ["Operator"]


class Operator:
    """A function on Tensors that is recorded as one node.

    Called with its arguments by position, it returns a Tensor or a tuple of them. What a kind
    brings:

    - ``name``, ``parameters``: the names of the operator and of its arguments, and ``tensors``,
      those of them that may be Tensors with a gradient;
    - ``run(arrays)``: the forward. It takes the arguments with the memory of Tensors in their
      places, and returns an array or a tuple of arrays. Here, and nowhere else, an operator
      computes on arrays;
    - ``node_of(results, arguments)``: the gradient rule, as the node of results, which saves what
      the rule uses;
    - ``batch(operator, size, arguments, mapped)``: the results for all samples of a ``vmap``. None
      runs the operator sample by sample;
    - ``tangent(operator, primals, tangents, results)``: the directional derivatives. None takes the
      transpose of the gradient rule; ``with_tangent`` may compute value and tangent together;
    - ``layers``: which layers are asked. ``variant(arguments)`` is the operator for complex
      operands of one that asks for COMPLEX, ``rounded`` the dtype rule of one that asks for HALF.
    """

    __slots__ = ()

    name: str
    parameters: tuple[str, ...] = ()
    tensors: frozenset[str] = frozenset()
    #: The layers of ``dispatch/descent.py`` that act on operators of this kind.
    layers: int = TRANSFORMED | INTERCEPTED | HALF
    #: Whether results share the memory of the input.
    is_view = False
    #: Whether results have a history; those of comparisons are leaves without a gradient.
    recorded = True
    #: Whether it knows itself what becomes of a pending conjugate or negative.
    takes_lazy_conj = False

    #: Picks the results among the arrays that ``run`` makes, where there is more.
    shown: Callable[[Any], Any] | None = None
    batch: Callable[..., Any] | None = None
    tangent: Callable[..., Any] | None = None

    def __call__(self, *arguments: Any) -> Any:
        """The results, recorded where an argument requires grad."""
        return descent.call(self, arguments)

    def compute(self, arguments: Sequence[Any]) -> Any:
        """The same in Python, past all launchers: what they leave arrives here."""
        return descent.call(self, arguments)

    def run(self, arrays: list[Any]) -> Any:
        """The forward on arrays."""
        raise NotImplementedError(f"{self.name} has no forward on arrays")

    def rounded(self, made: Any, arrays: list[Any]) -> Any:
        """Results of float32 in the dtype that they have for ``arrays`` of half precision."""
        kind = kind_of_results(arrays)
        if kind is None:
            return made
        if made.__class__ is tuple:
            return tuple([narrowed(x, kind) for x in made])
        return narrowed(made, kind)

    def variant(self, arguments: Sequence[Any]) -> Operator:
        """The operator for arguments of which some are complex."""
        return self

    @property
    def seen_as(self) -> Any:
        """The argument of policies of selective checkpoints: a name, or an object of the user's."""
        return self.name

    # --- autograd ---------------------------------------------------------------------------------

    def finish(self, made: Any, arguments: Sequence[Any]) -> Any:
        """The arrays that the forward made as Tensors, recorded where an argument requires grad."""
        if made.__class__ is tuple:
            results: Any = tuple([new_tensor(array) for array in made])
        else:
            results = new_tensor(made)
        if grad_mode.enabled and requires_grad(arguments):
            self.record(results, arguments)
        return results

    def remember(self, results: Any, arguments: Sequence[Any]) -> Any:
        """Record results that a rule of a transformation computed."""
        if requires_grad(arguments):
            self.record(results, arguments)
        return results

    def record(self, results: Any, arguments: Sequence[Any]) -> None:
        """Make results, a Tensor or a tuple of them, remember how they came about.

        Those with a float dtype do.
        """
        if not self.recorded:
            return
        made = results if results.__class__ is tuple else (results,)
        produced = [x if x._array.dtype.kind in "fcV" else None for x in made]
        if all([x is None for x in produced]):  # Tensors are not to be compared
            return
        node = self.node_of(made, arguments)
        produce(node, *produced)
        if library.compiled_more:
            foresight.foresee(node, produced)

    def node_of(self, results: tuple[Tensor, ...], arguments: Sequence[Any]) -> Node:
        """The node of results, complete but for the results that it is to be the producer of."""
        raise NotImplementedError(f"{self.name} has no gradient rule")

    # --- the pair of a signature, see ``node_calls.py`` ------------------------------------------

    def signature_of(self, arguments: Sequence[Any]) -> str:
        """The signature of a call."""
        return signature_of(_arrays(arguments))

    def calls_of(self, node: Any, recall: Any) -> Iterable[list[Any]]:
        """The calls that leave such a node: several if it does not tell which kernels ran.

        ``recall`` has the operands. There is none where they are not known.
        """
        return []

    def form_kept_by(self, node: Any) -> tuple[tuple[int, ...], Any] | None:
        """Shape and dtype of the result of a node, if what it keeps tells."""
        return None

    # --- forward mode -----------------------------------------------------------------------------

    def with_tangent(self, primals: list[Any], tangents: list[Any]) -> tuple[Tensor, Tensor] | None:
        """The one result and its tangent, of ordinary Tensors, not recorded; None if unknown."""
        return None


def _arrays(values: Sequence[Any]) -> list[Any]:
    """The arguments with arrays in the places of Tensors."""
    return [
        value._array
        if isinstance(value, Tensor)
        else _arrays(value)
        if isinstance(value, (list, tuple))
        else value
        for value in values
    ]
