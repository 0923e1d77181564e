"""Writes ``numbagrad/kernels/generated``: kernels as the library prints and compiles them.

Run ``python tools/write_kernels.py`` after a change of what prints kernels; a test compares the
files with what this module would write. Each kernel is taken from what ``executor.explain`` shows
of a call that needs it, and gets a name, a decorator and a docstring; its lines are untouched.
"""

from __future__ import annotations

import contextlib
import pathlib
import re
import textwrap
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numbagrad as torch
from numbagrad import executor
from numbagrad.codegen import loader
from numbagrad.kernels import layout

FOLDER = pathlib.Path(torch.__file__).parent / "kernels" / "generated"

_LAYOUTS = {"contiguous": "UNIT", "repeated": "ZERO", "in place": "ALIAS"}
_OPERAND = re.compile(r"(\w+) (\w+) (contiguous|repeated|in place)")

#: A line of a docstring.
_WIDTH = 96


class Shown(NamedTuple):
    """A kernel that is written: ``call()`` needs the kernel that the library calls ``printed``.

    `does` says what it computes, `formula` where that comes from.
    """

    name: str
    printed: str
    call: Callable[[], Any]
    does: str
    formula: str

    def source(self) -> str:
        """The text of the kernel, as the library prints it."""
        with _usual_vectors():
            kernels = executor.explain(self.call).kernels
        return next(x.source for x in kernels if x.name == self.printed and x.source is not None)


@contextlib.contextmanager
def _usual_vectors() -> Iterator[None]:
    """Print as for CPUs without AVX-512, where exp has an instruction of its own."""
    target: Any = loader.target
    narrow = target()._replace(vector_bits=min(target().vector_bits, 256))
    loader._runs_here()  # remembers its answer, which is of this CPU
    loader.target = lambda: narrow  # type: ignore[assignment]
    try:
        yield
    finally:
        loader.target = target


# --- what is written ----------------------------------------------------------------------------


def _ones(requires_grad: bool = False) -> Any:
    return torch.ones(3, 4, requires_grad=requires_grad)


def _backward(function: Callable[[Any], Any]) -> Callable[[], Any]:
    """A call that computes the gradient of a function."""
    return lambda: function(_ones(True)).backward(_ones())


def _backward_of_product() -> None:
    (_ones(True) * _ones(True)).backward(_ones())


def _accumulate() -> None:
    x = _ones(True)
    x.grad = _ones()
    (x * 2.0).backward(_ones())


FILES = {
    "arithmetic": [
        Shown("add", "add", lambda: _ones() + _ones(), "out = x + y", """
            Formula: add in numbagrad/ops/pointwise/arithmetic.py. Both gradients are the incoming
            one, which is passed on: there is no kernel for them."""),
        Shown("mul", "mul", lambda: _ones() * _ones(), "out = x * y", """
            Formula: mul in numbagrad/ops/pointwise/arithmetic.py."""),
        Shown("mul_backward", "mul_backward", _backward_of_product,
              "The gradients of mul: out0 = grad1 * y for x, out1 = grad1 * x for y", """
            Formula: numbagrad/formula/differentiate.py derives it from that of mul. grad1 is the
            gradient of the result."""),
        Shown("accumulate", "add", _accumulate,
              "Accumulation of a gradient: x += y, where x is the ``grad`` of a leaf", """
            Called by numbagrad/autograd/engine/backward.py, with what a backward adds as y.
            It is the kernel of ``add_``: out is x itself, whose address is in the words of
            out."""),
    ],
    "activation": [
        Shown("relu", "relu", lambda: _ones().relu(),
              "out = 0 where x <= 0, else x; so NaN stays", """
            Formula: relu in numbagrad/ops/pointwise/activation.py."""),
        Shown("relu_backward", "relu_backward", _backward(lambda x: x.relu()),
              "The gradient of relu, with its mask: out = 0 where result1 <= 0, else grad1", """
            Formula: the ``gradient`` of relu in numbagrad/ops/pointwise/activation.py. result1 is
            what relu returned, so that x need not be saved; grad1 is the gradient of that. It is
            masked, not multiplied with zero, so that NaN and infinity do not leak."""),
        Shown("sigmoid_backward", "sigmoid_backward", _backward(lambda x: x.sigmoid()),
              "The gradient of the sigmoid: out = grad1 * (1 - result1) * result1", """
            Formula: the ``gradient`` of sigmoid in numbagrad/ops/pointwise/activation.py. result1
            is what sigmoid returned, grad1 the gradient of that."""),
    ],
    "bounds": [
        Shown("clamp", "clamp", lambda: _ones().clamp(-1.0, 1.0),
              "out = minimum(maximum(x, low), high); NaN stays", """
            Formula: clamp in numbagrad/ops/pointwise/bounds.py. The bounds are single values."""),
        Shown("clamp_backward", "clamp_backward", _backward(lambda x: x.clamp(-1.0, 1.0)),
              "The gradient of clamp, and its mask: out = grad1 where low <= x <= high, else 0", """
            Formula: the ``gradient`` of clamp in numbagrad/ops/pointwise/bounds.py; torch too
            passes it at the bounds. grad1 is the gradient of the result."""),
    ],
    "exponential": [
        Shown("exp", "exp", lambda: _ones().exp(), "out = exp(x)", """
            Formula: exp in numbagrad/ops/pointwise/elementary.py, which
            numbagrad/kernels/vector_math/exponential.py lowers to arithmetic: a power of two times
            a polynomial, within 2 units in the last place. Its gradient is grad * result. CPUs with
            AVX-512 have an instruction for the last step: they are printed another kernel."""),
    ],
    "reduction": [
        Shown("sum_rows", "sum", lambda: _ones().sum(1),
              "The sum of each row of an array, or of all elements as one row", """
            Printed by numbagrad/kernels/reduction/source.py: sums of blocks, joined by a pairwise
            tree. Its gradient is the incoming one, repeated: there is no kernel for it."""),
    ],
}  # fmt: skip

_TITLES = {
    "arithmetic": "Sums, products, and the accumulation of gradients.",
    "activation": "relu and its gradient with the mask, and the gradient of the sigmoid.",
    "bounds": "clamp, and its gradient with the mask.",
    "exponential": "exp.",
    "reduction": "Sums of rows, and of all elements.",
}


# --- how it is written --------------------------------------------------------------------------


def operands_of(source: str) -> list[tuple[str, str, str]]:
    """Name, dtype and layout of the inputs and outputs that the first line of a kernel names."""
    return [(name, dtype, _LAYOUTS[how]) for name, dtype, how in _OPERAND.findall(_header(source))]


def _header(source: str) -> str:
    return source.partition("\n")[0]


def body_of(source: str) -> str:
    """The lines of a kernel behind its name."""
    return source.partition("def kernel(args, lo, hi):\n")[2]


def imports_of(source: str) -> list[str]:
    """What a kernel imports."""
    return re.findall(r"^(?:from|import) .*$", source, re.MULTILINE)


def _filled(text: str, first: str = "    ", rest: str = "    ") -> str:
    words = " ".join(text.split())
    return textwrap.fill(words, _WIDTH, initial_indent=first, subsequent_indent=rest)


def _pointwise(source: str) -> tuple[str, str]:
    """The decorator and the arguments of a pointwise kernel, as its docstring has them."""
    operands = operands_of(source)
    lines = [f'("{name}", "{dtype}", {how}),' for name, dtype, how in operands]
    outputs = len([name for name, _, _ in operands if name.startswith("out")])
    lines += [f"outputs={outputs},"] if outputs > 1 else []
    first, step = layout.ARGUMENT_OPERANDS, layout.OPERAND_WORDS
    positions = [f"{first + step * k} ({operand[0]})" for k, operand in enumerate(operands)]
    words = (
        "args: address of int64 words (numbagrad/kernels/layout.py): the number of dimensions, 1; "
        "their sizes; and for each operand its address, and its strides, which nobody reads, since "
        f"arrays are contiguous. The addresses are words {', '.join(positions)}."
    )
    taken = textwrap.indent("\n".join(lines), " " * 8)
    decorator = f'@kernel(\n    code="formula",\n    takes=Operands(\n{taken}\n    ),\n)'
    return decorator, words


def _reduction() -> tuple[str, str]:
    words = (
        "args: address of int64 words (numbagrad/kernels/reduction/layout.py): numbers of kept and "
        "reduced dimensions, addresses of the input and of the results, how many elements there "
        "are, in how many segments; then sizes, and strides of the input and of the results."
    )
    return '@kernel(code="rows", takes=Rows("float32"))', words


def _function(shown: Shown, source: str) -> str:
    is_sum = shown.printed == "sum"
    decorator, words = _reduction() if is_sum else _pointwise(source)
    over = "results" if is_sum else "elements"
    described = _header(source).partition(": ")[2]
    lines = [decorator, f"def {shown.name}(args, lo, hi):", f'    """{shown.does}.', ""]
    lines += [_filled(shown.formula), "", _filled(f"Printed for {described}."), "", "    Args:"]
    lines += [_filled(words, " " * 8, " " * 12)]
    lines += [f"        lo, hi: the range of {over} to compute.", '    """']
    return "\n".join(lines) + "\n" + body_of(source)


def written(file: str) -> str:
    """The text of a file of kernels."""
    sources = [(shown, shown.source()) for shown in FILES[file]]
    imports = list(dict.fromkeys([line for _, source in sources for line in imports_of(source)]))
    used = {how for _, source in sources for _, _, how in operands_of(source)}
    ours = ["from numbagrad.codegen.kernel import kernel"]
    if used:
        ours.append(f"from numbagrad.kernels.layout import {', '.join(sorted(used))}")
    ours.append(f"from numbagrad.kernels.packing import {'Operands' if used else 'Rows'}")
    title = f'"""{_TITLES[file]}\n\nPrinted by the library; written by tools/write_kernels.py.\n"""'
    parts = ["\n".join([title, "", *imports, "", *ours, ""])]
    return "\n\n".join([*parts, *[_function(*each) for each in sources]])


def main() -> None:
    """Write all files."""
    texts = {file: written(file) for file in FILES}
    for file, text in texts.items():
        (FOLDER / f"{file}.py").write_text(text)


if __name__ == "__main__":
    main()
