"""Typing: the dtype of every node of a formula, once the compute dtype is chosen.

The lowering and the printers call it. A formula is written without dtypes; compiled for a compute
dtype T, its value inputs have T, its boolean inputs and comparisons are bool, `bits` gives the
integer of T's size, and numbers take the dtype of the operands they meet.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .expression import (
    BITWISE,
    CLASSIFICATIONS,
    COMPARISONS,
    SHIFTS,
    Expression,
    postorder,
)

FLOATS = ("float32", "float64")
INTEGERS = ("int8", "int16", "int32", "int64", "uint8")
DTYPES = (*FLOATS, *INTEGERS, "bool")

BITS_OF = {"float32": "int32", "float64": "int64"}
FLOAT_OF_BITS = {"int32": "float32", "int64": "float64"}

# Operations that mean something for integers and booleans too; all others need floats.
_ANY_DTYPE = frozenset(
    "add sub mul neg pow abs sign floor ceil trunc round minimum maximum fmod remainder "
    "floor_divide trunc_divide integer_divide".split()
)


class Typing:
    """The dtypes of expressions, found on demand and remembered.

    Of a constant the dtype is None: it takes whatever its user wants.
    """

    def __init__(self, dtype: str, booleans: Iterable[str] = ()) -> None:
        if dtype not in DTYPES:
            raise TypeError(f"formulas compute in one of {', '.join(DTYPES)}, not in {dtype}")
        self.dtype = dtype
        self._booleans = frozenset(booleans)
        # The node is kept beside its dtypes, so that its id stays its own.
        self._known: dict[int, tuple[Expression, str | None, str | None]] = {}

    def of(self, node: Expression) -> str | None:
        """The dtype of the value of `node`; None for a number, which fits itself to its user."""
        return self._entry(node)[1]

    def of_operands(self, node: Expression) -> str | None:
        """The dtype to which the operands of `node` are brought (its branches, for a `where`)."""
        return self._entry(node)[2]

    def of_output(self, node: Expression) -> str:
        """The dtype in which `node` is stored when a formula returns it."""
        return self.of(node) or self.dtype

    def _entry(self, node: Expression) -> tuple[Expression, str | None, str | None]:
        found = self._known.get(id(node))
        if found is None:
            for new in postorder((node,), known=self._known):
                result, operands = self._infer(new)
                self._known[id(new)] = (new, result, operands)
            found = self._known[id(node)]
        return found

    def _infer(self, node: Expression) -> tuple[str | None, str | None]:
        """The dtypes of `node` and of its operands."""
        operation = node.operation
        if operation == "constant":
            return ("bool" if isinstance(node.value, bool) else None), None
        if operation == "input":
            return ("bool" if node.value in self._booleans else self.dtype), None
        given = [self._known[id(x)][1] for x in node.operands]
        if operation == "cast":
            return node.value, given[0] or node.value
        if operation == "where":
            if given[0] != "bool":
                raise TypeError(f"the condition of {node!r} is {given[0]}, not bool")
            branches = self._common(node, given[1:], True, self._compared(node.operands[0]))
            return branches, branches
        if operation in COMPARISONS:
            return "bool", self._common(node, given, boolean=True)
        common = self._common(node, given, boolean=operation in BITWISE)
        if operation in CLASSIFICATIONS:
            return "bool", common
        if operation == "from_bits":
            return self._bits(node, common, FLOAT_OF_BITS), common
        if operation == "bits":
            return self._bits(node, common, BITS_OF), common
        if operation in BITWISE or operation in SHIFTS:
            if common in FLOATS:
                raise TypeError(f"{operation} in {node!r} works on integers and bool, not {common}")
        elif operation not in _ANY_DTYPE and common not in FLOATS:
            raise TypeError(
                f"{operation} computes in float32 or float64, not in {common}; "
                "convert the inputs before"
            )
        return common, common

    def _compared(self, condition: Expression) -> str | None:
        """The dtype for numbers between which a comparison of floats chooses."""
        found = self._known[id(condition)][2]
        return found if found in FLOATS and self.dtype in FLOATS else None

    def _common(
        self,
        node: Expression,
        given: Sequence[str | None],
        boolean: bool,
        numbers: str | None = None,
    ) -> str:
        """The one dtype that the operands of `node` meet in, which ``numbers`` alone have."""
        strong = sorted({x for x in given if x not in (None, "bool")})
        if len(strong) > 1:
            raise TypeError(
                f"{node.operation} in {node!r} mixes {' and '.join(map(str, strong))}: use cast"
            )
        if strong:
            return str(strong[0])
        # A number beside a truth value makes a number of it: as a truth value, 2 would be 1.
        only_booleans = bool(given) and all([x == "bool" for x in given])
        return "bool" if boolean and only_booleans else numbers or self.dtype

    @staticmethod
    def _bits(node: Expression, dtype: str | None, table: dict[str, str]) -> str:
        if dtype not in table:
            raise TypeError(f"{node!r} works on {' or '.join(table)}, not on {dtype}")
        return table[dtype]
