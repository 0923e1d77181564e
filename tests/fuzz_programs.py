"""Random programs for ``fuzz_check.py``: statements in torch's interface, drawn by random integers.

A program is a list of lines over ``t``, which is either library. Its writer runs each line in
torch while it writes, so that most statements fit the tensors that there are; those that torch
refuses stay in the program, since the other library has to refuse them as well.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import torch
from fuzz_calls import CALLS, Call
from hypothesis import strategies as st
from operator_entry import FLOATS, Input

Item = TypeVar("Item")

KINDS = ("float32", "float64", "float32", "float64", "float32", "int64", "float16", "bfloat16",
         "complex64", "int32", "uint8", "bool", "int8", "complex128", "int16")  # fmt: skip
SHAPES = ((3,), (2, 3), (), (1,), (2, 1), (4, 3), (2, 3, 4), (3, 3), (0,), (2, 0), (1, 3, 1))
#: Other sizes for those of `SHAPES`: what broadcasts does so with any of them.
SIZES = ({2: 5, 3: 4, 4: 7}, {2: 3, 3: 2}, {2: 1, 4: 3}, {3: 9, 4: 2}, {2: 17, 3: 8, 4: 1})
NUMBERS = ("2", "0.5", "-1", "0", "3", "-1.5", "1", "True", "-2", "7", "0.25")
IN_PLACE_OF_ANY = ("zero_()", "fill_({n})", "add_({n})", "mul_({n})", "sub_({n})", "div_({n})",
                   "copy_({y})", "add_({y})", "mul_({y})", "clamp_(-1, 2)", "neg_()", "pow_(2)",
                   "masked_fill_({x} > {n}, {n})", "squeeze_()", "unsqueeze_(0)", "t_()",
                   "transpose_(0, -1)", "detach_()", "requires_grad_()", "fill_diagonal_({n})",
                   "index_fill_(0, t.tensor([0]), {n})", "index_add_(0, t.tensor([0]), {y}[:1])",
                   "copy_({y}.detach())", "swapaxes_(0, -1)", "tril_()",
                   "index_put_((t.tensor([0]),), {y}[0], accumulate=True)", "clip_(min={n})",
                   "put_(t.tensor([0]), {y}.reshape(-1)[:1])", "unsqueeze_(-1)", "sub_({y}.sum())",
                   "masked_scatter_({x} > 0, {y})")  # fmt: skip
#: Operators of the table whose second operand may be a number.
WITH_NUMBERS = set(
    "add add_scaled sub sub_scaled mul div div_floor div_trunc floor_divide remainder fmod pow eq "
    "ne lt le gt ge where xlogy special_xlog1py copysign bitwise_and bitwise_or bitwise_xor "
    "masked_fill bitwise_left_shift bitwise_right_shift rsub".split()
)
SIGNS = ("+", "-", "*", "/", "//", "%", "**", "@", "<", "<=", "==", "!=", ">", ">=", "&", "|", "^")
CONVERSIONS = ("to(t.{k})", "double()", "float()", "to({y})", "half()", "bool()", "type(t.{k})",
               "to(t.{k}, copy=True)", "type_as({y})", "nan_to_num(0).clamp(-9, 9).to(t.int32)",
               "nan_to_num(0).clamp(0, 9).byte()", "cfloat()", "nan_to_num(0).clamp(-9, 9).long()",
               "real", "imag", "conj()", "bfloat16()", "abs()", "view(t.{k})", "H")  # fmt: skip
MADE = ("t.zeros_like({x})", "t.ones_like({x})", "t.full_like({x}, {n})", "{x}.new_zeros(2, 3)",
        "{x}.new_tensor([1, 2, 3])", "t.arange(3)", "t.eye(3)", "t.linspace(0, 1, 4)",
        "t.full({x}.shape, {n})", "t.tensor({n})", "t.as_tensor({x})", "{x}.new_full((2,), {n})",
        "t.ones(3, requires_grad=True)", "t.zeros(2, 3, dtype=t.{k})", "t.scalar_tensor({n})",
        "t.arange({n})", "t.zeros_like({x}, dtype=t.{k})", "{x}.sum().item()", "{x}.tolist()",
        "{x}.numel()", "t.result_type({x}, {n})", "t.result_type({x}, {y})", "{x}.is_contiguous()",
        "t.can_cast({x}.dtype, {y}.dtype)", "t.equal({x}, {y})", "t.is_nonzero({x})",
        "{x}.stride()",
        "t.allclose({x}, {y})", "len({x})", "bool({x})", "int({x})", "float({x})", "{x}._is_view()",
        "t.full_like({x}, {n}, requires_grad=True)", "{x}.storage_offset()")  # fmt: skip
LAYERS = (
    "t.nn.functional.layer_norm({x}, {x}.shape[-1:])", "t.nn.functional.normalize({x}, dim=0)",
    "t.nn.functional.linear({x}, {y})", "t.nn.functional.linear({x}, {y}, {z})",
    "t.nn.functional.conv1d({x}[None], {y}[None], padding=1)", "t.nn.functional.glu({x}, -1)",
    "t.nn.functional.mse_loss({x}, {y})", "t.nn.functional.softmax({x}, -1, dtype=t.float64)",
    "t.nn.functional.pad({x}, (1, 2))", "t.nn.functional.pad({x}, (0, 1), value={n})",
    "t.nn.functional.cross_entropy({x}, {y}.argmax(-1))", "t.nn.functional.dropout({x}, 0.0)",
    "t.nn.functional.one_hot({x})", "t.nn.functional.avg_pool1d({x}, 2)",
    "t.nn.functional.max_pool1d({x}, 2)", "t.nn.functional.nll_loss({x}, {y}.argmax(-1))",
    "t.nn.functional.cosine_similarity({x}, {y}, dim=0)",
    "t.nn.functional.smooth_l1_loss({x}, {y})",
    "t.nn.functional.scaled_dot_product_attention({x}, {y}, {z})",
    "t.nn.functional.pairwise_distance({x}, {y})", "t.nn.functional.embedding({x}, {y})",
    "t.nn.functional.relu6({x})",
    "t.nn.functional.interpolate({x}[None], scale_factor=2.0)", "t.lerp({x}, {y}, 0.25)",
    "t.nn.functional.batch_norm({x}, None, None, training=True)", "t.cat([{x}, {y}])",
    "t.nn.functional.group_norm({x}, 1)", "t.nn.functional.rms_norm({x}, {x}.shape[-1:])",
    "t.stack([{x}, {x}])", "t.cat([{x}, {x}, {x}], -1)", "t.where({x} > {n}, {x}, {y})",
    "t.where({x} > 0, {n}, {y})", "t.bmm({x}, {x}.mT)", "{x} @ {x}.mT", "sum([{x}, {y}, {n}])",
    "{x}.index_select(0, t.tensor([0, -1]))", "{x}.gather(0, {x}.argsort(0))", "{x}.sort().values",
    "t.func.grad(lambda a: (a * {y}).sum())({x})", "t.func.vmap(lambda a: a * a.sum())({x})",
    "t.func.jvp(lambda a: a.sin(), ({x},), ({y},))",
    "t.func.hessian(lambda a: (a ** 3).sum())({x})",
    "t.func.vmap(lambda a: t.cumsum(a, 0))({x})", "t.func.jacrev(lambda a: a.exp() * {y})({x})",
    "t.nn.functional.huber_loss({x}, {y}, reduction='sum')", "t.std_mean({x}, -1)",
    "t.func.vmap(t.func.grad(lambda a: (a * {y}).sum()))({x}).clone()", "t.vander({x})",
    "t.func.jacfwd(lambda a: a * a)({x})",
    "t.take_along_dim({x}, {x}.argmax(-1, keepdim=True), -1)",
    "t.searchsorted({x}.sort().values, {y})",
    "t.bucketize({y}, {x}.sort().values)", "t.unique({x}.round())", "t.addmm({x}, {y}, {z})",
    "t.clamp({x}, {y}, {z})",
)  # fmt: skip
DIFFERENTIATING = (
    "{r}.register_hook(lambda g: g * 2)", "{r}.retain_grad()", "{r}.backward(t.ones_like({r}))",
    "{r}.sum().backward(retain_graph=True)", "{r}.register_hook(lambda g: None)",
    "{r}.sum().backward()", "({r} * {r}).sum().backward(create_graph=True)",
)  # fmt: skip
GIVING_GRADIENTS = (
    "{r}.grad", "t.autograd.grad({r}.sum(), {leaf}, retain_graph=True, allow_unused=True)",
    "t.autograd.grad(({r} * {r}).sum(), {leaf}, create_graph=True)", "{leaf}.grad", "{leaf}.grad",
    "t.autograd.grad({r}.sin().sum(), {leaf}, create_graph=True, materialize_grads=True)",
    "t.autograd.grad({r}, {leaf}, t.ones_like({r}), create_graph=True, allow_unused=True)",
    "t.autograd.functional.jacobian(lambda a: (a * a).sum(0), {r}, create_graph=True)",
)  # fmt: skip
ROOTS = ("{x}.sum()", "({x} * {x}).mean()", "{x}.sin().sum()")
CONTEXTS = ("t.no_grad()", "t.enable_grad()", "t.set_grad_enabled(False)", "t.inference_mode()")


@dataclass(frozen=True)
class Given:
    """An input of a program: a tensor with elements drawn from a seed."""

    name: str
    kind: str
    shape: tuple[int, ...]
    seed: int
    requires_grad: bool
    drawn: Input = Input()

    def elements(self, step: int = 0, shape: tuple[int, ...] | None = None) -> Any:
        """Nested lists of numbers with few digits; other ones at each step.

        Every fourth step has whole numbers, of which many are equal, and zero where it is allowed.
        """
        shape = self.shape if shape is None else shape
        generator = np.random.default_rng(self.seed + 1000 * step)
        whole = not (self.kind in FLOATS or self.kind in ("bfloat16", "complex64", "complex128"))
        if whole:
            return self.drawn.draw(generator, self.kind, shape).tolist()
        drawn = "int64" if step % 4 == 3 else "float64"
        array = self.drawn.draw(generator, drawn, shape).astype(float).round(2)
        if "complex" in self.kind:
            array = array + 1j * self.drawn.draw(generator, drawn, shape).round(2)
        return array.tolist()

    def line(self, step: int = 0, sizes: dict[int, int] | None = None) -> str:
        """The statement that makes it; ``sizes`` has other sizes for those of the dimensions."""
        shape = self.shape
        if sizes and self.drawn.shape == (5,):
            shape = tuple([sizes.get(x, x) for x in shape])
        flag = ", requires_grad=True" if self.requires_grad else ""
        if 0 in shape:
            return f"{self.name} = t.zeros({shape}, dtype=t.{self.kind}{flag})"
        elements = self.elements(step, shape)
        return f"{self.name} = t.tensor({elements}, dtype=t.{self.kind}{flag})"


class Program:
    """The inputs and the statements of a program, in the order in which they are run."""

    def __init__(self) -> None:
        self.given: list[Given] = []
        self.lines: list[str] = []

    def __repr__(self) -> str:
        return "\n".join(["", *self.lines])

    def with_other_inputs(self, step: int) -> Program:
        """The same statements on other elements and, at odd steps, on inputs of other sizes.

        Kernels depend on neither, so such a program compiles next to nothing.
        """
        sizes = SIZES[step // 2 % len(SIZES)] if step % 2 else None
        others = {x.line(): x.line(step, sizes) for x in self.given}
        made = Program()
        made.given = self.given
        made.lines = [others.get(x, x) for x in self.lines]
        return made


class Writer:
    """Writes one program; ``integer`` draws a number from the first to the last of a range."""

    def __init__(self, integer: Callable[[int, int], int], for_compile: bool = False) -> None:
        self.integer = integer
        self.for_compile = for_compile
        self.program = Program()
        self.scope: dict[str, Any] = {"t": torch, "n": 1.5, "flag": True}
        self.count = 0
        self.kind = self.pick(KINDS[:3] if for_compile else KINDS)

    # --- choices ---------------------------------------------------------------------------------

    def pick(self, items: Sequence[Item]) -> Item:
        return items[self.integer(0, len(items) - 1)]

    def chance(self, percent: int) -> bool:
        """Whether something happens that simpler programs do without."""
        return bool(self.integer(0, 99) >= 100 - percent)

    def tensors(self, test: Callable[[Any], bool] = lambda x: True) -> list[str]:
        """The names of tensors of a moderate size, the youngest first."""

        def suits(x: Any) -> bool:
            try:
                return x.numel() <= 150 and x.dim() <= 4 and test(x)
            except RuntimeError:  # a view whose base was written: torch does not say what it is
                return False

        found = [name for name, x in self.scope.items() if isinstance(x, torch.Tensor) and suits(x)]
        return found[::-1]

    def tensor(self, test: Callable[[Any], bool] = lambda x: True) -> str:
        names = self.tensors(test)
        return self.pick(names) if names else self.given()

    def number(self) -> str:
        return "n" if self.for_compile and self.chance(50) else self.pick(NUMBERS)

    def partner(self, name: str) -> str:
        """A tensor that broadcasts with another, or any."""
        shape = self.scope[name].shape

        def fits(x: Any) -> bool:
            pairs = zip(x.shape[::-1], shape[::-1], strict=False)
            return all(a == b or 1 in (a, b) for a, b in pairs)

        return self.tensor() if self.chance(10) else self.tensor(fits)

    # --- statements ------------------------------------------------------------------------------

    def run(self, line: str) -> None:
        """Add a statement, and run it in torch."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                exec(line, self.scope)
        except Exception:  # what torch refuses belongs to the program
            if self.for_compile:
                return
        self.program.lines.append(line)

    def result(self, text: str, guard: str = "") -> None:
        """Add a statement that gives names to what an expression makes."""
        self.count += 1
        name = f"x{self.count}"
        parts: int | None = None
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                exec(f"{guard}{name} = {text}", self.scope)
            made = self.scope[name]
            if isinstance(made, (tuple, list)) and any(isinstance(x, torch.Tensor) for x in made):
                del self.scope[name]
                parts = len(made)
                for k, x in enumerate(made):
                    self.scope[f"{name}_{k}"] = x
        except Exception:
            if self.for_compile:
                return
        if parts is not None:
            name = "".join([f"{name}_{k}, " for k in range(parts)]).removesuffix(" ")
            name = name[:-1] if parts > 1 else name
        self.program.lines.append(f"{guard}{name} = {text}")

    def given(self, drawn: Input | None = None, kind: str = "") -> str:
        """Add an input; returns its name."""
        drawn = drawn or self.pick((Input(), Input(intervals=((0.2, 3.0),)), Input()))
        kind = drawn.fixed or kind or (self.pick(KINDS) if self.chance(20) else self.kind)
        shape = drawn.shape if drawn.shape != (5,) else self.pick(SHAPES)
        differentiable = "float" in kind or "complex" in kind
        made = Given(f"a{len(self.program.given)}", kind, shape, self.integer(0, 99),
                     differentiable and not self.chance(30), drawn)  # fmt: skip
        self.program.given.append(made)
        self.run(made.line())
        return made.name

    def filled(self, text: str) -> str:
        """A template with names in the place of ``{x}``, ``{y}``, ``{n}``, ..."""
        x = self.tensor()
        found = {"x": x}
        for position in re.findall(r"\{(\w+)\}", text):
            if position in found:
                continue
            if position in "yz":
                found[position] = self.partner(x)
            elif position == "n":
                found[position] = self.number()
            elif position == "k":
                found[position] = self.pick(KINDS)
            elif position == "r":
                # A hook on a view that lost its history ends torch's process.
                found[position] = self.tensor(
                    lambda x: x.requires_grad and not (x._is_view() and x.grad_fn is None)
                )
            elif position == "leaf":
                found[position] = self.tensor(lambda x: x.requires_grad and x.is_leaf)
        return text.format(**found)

    def operands(self, call: Call) -> list[str]:
        """A tensor, seldom a number, for each argument of a call of the table."""
        names: list[str] = []
        for wanted in call.entry.inputs:

            def suits(x: Any, wanted: Input = wanted) -> bool:
                return str(x.dtype)[6:] == wanted.fixed or not wanted.fixed and (
                    call.entry.admits(str(x.dtype)[6:]) or x.dtype.is_complex)  # fmt: skip

            any_shape = wanted.shape == (5,)
            if names and call.entry.name in WITH_NUMBERS and self.chance(15):
                names.append(self.number())
            elif any_shape and names and self.tensors(suits) and names[0] in self.scope:
                names.append(self.partner(names[0]))
            elif any_shape and self.tensors(suits):
                names.append(self.tensor(suits))
            elif self.chance(15):
                names.append(self.tensor())
            else:
                fitting = self.tensors(
                    lambda x, wanted=wanted, suits=suits: x.shape == wanted.shape and suits(x)
                )
                if fitting and not self.chance(30):
                    names.append(self.pick(fitting))
                else:
                    kind = self.kind if call.entry.admits(self.kind) else "float32"
                    names.append(self.given(wanted, kind))
        return names

    def called(self, in_place: bool = False) -> str:
        """A call of the table: as a function, as a method, or the operator in place."""
        call = self.pick(CALLS)
        names = self.operands(call)
        dtypes = [str(self.scope[x].dtype) for x in names if x in self.scope and x[0] in "ax"]
        whole = not any("float" in x or "complex" in x for x in dtypes)
        text = call.whole_text if whole else call.float_text
        if call.name:
            if in_place and hasattr(torch.Tensor, call.name + "_"):
                text = call.as_method(whole, "_")
            elif hasattr(torch.Tensor, call.name) and self.chance(30):
                text = call.as_method(whole)
        text = text.format(*names)
        if self.chance(15):
            positions = list(re.finditer(r"(?<![\w.\[])-?\d+(?![\w.\]])|True|False", text))
            if positions:
                position = self.pick(positions)
                other = self.pick(("0", "-1", "2", "1", "-2", "3"))
                if position[0] in ("True", "False"):
                    other = str(position[0] == "False")
                text = text[: position.start()] + other + text[position.end() :]
        return text

    def view(self) -> str:
        """An expression that shows the memory of a tensor otherwise."""
        name = self.tensor()
        x = self.scope[name]
        dim = self.integer(-x.dim(), max(x.dim() - 1, 0))
        other = self.integer(-x.dim(), max(x.dim() - 1, 0))
        size = x.shape[dim] if x.dim() else 0
        least = min(size, 1)
        return name + self.pick((
            "[0]", "[...]", "[1:]", "[::2]", f".select({dim}, 0)", f".unsqueeze({dim})",
            f".transpose({dim}, {other})", ".reshape(-1)", ".view(-1)", ".squeeze()",
            f".narrow({dim}, 0, {least})", f".squeeze({dim})", ".expand(2, *{x}.shape)", ".T",
            ".mT",
            ".flatten()", ".diagonal()", f".unbind({dim})", f".split(2, {dim})",
            f".chunk(2, {dim})", f".movedim({dim}, {other})", ".detach()", ".view_as({x})",
            f".unfold({dim}, {least}, 1)", "[..., -1:]", "[..., None]", "[None]", ".data", ".t()",
            f".permute({tuple(range(x.dim() - 1, -1, -1))})", ".contiguous()",
            f".expand_as({self.partner(name)})", ".contiguous().as_strided((2,), (1,))",
            f".unsqueeze({dim - 1})",
            f".reshape({size}, -1)", f".tensor_split(2, {dim})", ".clone()", ".view({x}.shape)",
            f".flip({dim})", ".ravel()", f".unflatten({dim}, (-1, 1))", ".broadcast_to({x}.shape)",
            f".view({x.numel()})", ".positive()", ".flatten(0, -1)",
        )).format(x=name)  # fmt: skip

    def index(self, name: str) -> str:
        """What stands in brackets after a tensor."""
        x = self.scope[name]
        parts: list[str] = []
        for size in x.shape[: self.integer(1, max(x.dim(), 1))]:
            last = max(size - 1, 0)
            parts.append(self.pick((
                "0", ":", "1:", "-1", "::2", "None", f"t.tensor([0, {last}])", f"[{last}, 0]",
                ":-1", "...", f"t.tensor({last})", f"slice(0, {size}, 2)", "t.tensor([[0], [-1]])",
                f"t.tensor({[k % 2 == 0 for k in range(size)]})", "True", "5:", f"range({size})",
            )))  # fmt: skip
        if self.chance(15):
            return f"{self.partner(name)} > {self.number()}"
        return ", ".join(parts) or self.pick(("...", "None", "()"))

    def written(self) -> str:
        """A statement that writes a tensor in place."""
        kind = self.integer(0, 9)
        if kind < 4:
            name = self.tensor()
            text = self.pick(IN_PLACE_OF_ANY)
            return f"{name}." + text.format(x=name, y=self.partner(name), n=self.number())
        if kind < 6:
            name = self.tensor()
            sign = self.pick(SIGNS[:6])
            other = self.partner(name) if self.chance(60) else self.number()
            return f"{name} {sign}= {other}"
        if kind < 8:
            name = self.tensor()
            other = self.partner(name) if self.chance(50) else self.number()
            return f"{name}[{self.index(name)}] = {other}"
        return self.called(in_place=True)

    def arithmetic(self) -> str:
        """Two operands and a sign, or one with a sign."""
        name = self.tensor()
        if self.chance(10):
            return f"{self.pick('-~')}{name}"
        other = self.partner(name) if self.chance(60) else self.number()
        pair = [name, other]
        if self.chance(30):
            pair.reverse()
        sign = self.pick(SIGNS)
        return f" {sign} ".join(pair)

    def statement(self) -> None:
        """Add one statement of any kind."""
        kind = self.integer(0, 99)
        guard = ""
        if not self.for_compile and self.chance(5):
            guard = f"with {self.pick(CONTEXTS)}: "
        if kind < 30:
            self.result(self.called(), guard)
        elif kind < 44:
            text = self.arithmetic()
            if self.for_compile and self.chance(25):
                text = f"{text} if flag else {self.arithmetic()}"
            self.result(text, guard)
        elif kind < 58:
            self.result(self.view(), guard)
        elif kind < 74:
            self.run(guard + self.written())
        elif kind < 80:
            name = self.tensor()
            self.result(f"{name}[{self.index(name)}]", guard)
        elif kind < 84:
            self.result(self.filled(f"{{x}}.{self.pick(CONVERSIONS)}"), guard)
        elif kind < 88:
            self.result(self.filled(self.pick(MADE)), guard)
        elif kind < 94 or self.for_compile:
            self.result(self.filled(self.pick(LAYERS)), guard)
        elif kind < 97:
            self.run(guard + self.filled(self.pick(DIFFERENTIATING)))
        else:
            self.result(self.filled(self.pick(GIVING_GRADIENTS)), guard)

    def ending(self) -> None:
        """Gradients of what was computed by the inputs, and gradients of these."""
        roots = self.tensors(lambda x: x.requires_grad and not x.is_leaf)[:6]
        leaves = [x.name for x in self.program.given if x.requires_grad]
        leaves = [x for x in leaves if self.scope[x].requires_grad]
        if not roots or not leaves:
            return
        root = self.pick(ROOTS)
        terms = []
        for name in roots:
            real = f"t.view_as_real({name})" if self.scope[name].is_complex() else name
            terms.append(root.format(x=real))
        self.run(f"loss = {' + '.join(terms)}")
        if self.chance(20):
            self.run("loss.backward()")
            return
        names = ", ".join(leaves)
        left = ", ".join([f"g_{x}" for x in leaves]) + ("," if len(leaves) == 1 else "")
        self.run(f"{left} = t.autograd.grad(loss, [{names}], create_graph=True, allow_unused=True)")
        firsts = [
            f"g_{x}"
            for x in leaves
            if isinstance(self.scope.get(f"g_{x}"), torch.Tensor)
            and self.scope[f"g_{x}"].requires_grad
        ]
        if firsts:
            terms = [f"({x} * {x}.conj()).real.sum()" if self.scope[x].is_complex()
                     else f"({x} * {x}).sum()" for x in firsts]  # fmt: skip
            left = left.replace("g_", "h_")
            total = " + ".join(terms)
            self.run(f"{left} = t.autograd.grad({total}, [{names}], allow_unused=True)")


def written_program(
    integer: Callable[[int, int], int], for_compile: bool = False, longest: int = 14
) -> Program:
    """A program of a few inputs, some statements, and gradients; one for compile does not raise."""
    writer = Writer(integer, for_compile)
    for _ in range(integer(1, 3)):
        writer.given()
    for _ in range(integer(1, longest)):
        writer.statement()
    if not for_compile:
        writer.ending()
    return writer.program


@st.composite
def programs(draw: Callable[[Any], Any], for_compile: bool = False, longest: int = 14) -> Program:
    """Such programs, drawn with hypothesis."""
    return written_program(lambda low, high: draw(st.integers(low, high)), for_compile, longest)
