"""Runs a random program in torch and in numbagrad, line by line, and says where they part.

``parity/test_fuzz.py`` and ``fuzz.py`` call ``deviation``. Values have to agree but for rounding:
what torch itself computes otherwise when each of its operators is off by a rounding error, is no
deviation.
"""

from __future__ import annotations

import contextlib
import re
import warnings
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch.utils._python_dispatch import TorchDispatchMode

import numbagrad

#: Relative to the largest element; anything beyond is compared with what rounding errors do.
ROUNDING = {"float64": 1e-11, "complex128": 1e-11, "float32": 1e-5, "complex64": 1e-5,
            "float16": 4e-3, "bfloat16": 3e-2}  # fmt: skip
EPSILON = {torch.float64: 2.0**-52, torch.float32: 2.0**-23, torch.float16: 2.0**-10,
           torch.bfloat16: 2.0**-7, torch.complex64: 2.0**-23,
           torch.complex128: 2.0**-52}  # fmt: skip

#: What torch has no kernel or no derivative for may have a result here, and what it overwrote may
#: still be there.
MAY_WORK = re.compile(
    r"not implemented for|modified by an inplace operation|not supported for|not resizable|"
    r"refers? to a single memory location|derivative for '?[\w: ]+'? is not implemented|"
    r"but found Int$|"  # of einsum, which sums int32 to int64
    r"MKL FFT error|"  # of transforms of nothing
    r"Autograd not support dtype: |"  # of integers that take differentiable elements
    r"non-empty TensorList|out of range for tensor of size \[0\]|Unsupported dtype BFloat16|"
    r"integer tensors, but got BFloat16"
)
#: The same of what torch's gradient formulas meet with dtypes and layouts they were not made for.
MAY_WORK_BACKWARD = re.compile(
    r"doesn't match the broadcast shape|INTERNAL ASSERT FAILED|Found dtype|"
    r"can't be cast to the desired output type|backward through the graph a second time|"
    r"returned an invalid gradient at index|"  # of a source larger than the index of a scatter
    r"with a bool tensor is not supported|must have a last dimension with stride 1|"
    r"Could this error message be improved|"
    r"input tensors must have the same dtype, but got|"  # of addr, which promotes
    r"Expected a proper Tensor but got None|"  # of the norm that counts
    r"Negation, the `-` operator, on a bool tensor"  # of atan2
)

#: What this library says that it does not have.
MISSING = re.compile(
    r"not implemented for '(Complex|Half|BFloat16)|"
    r"Expected a float32 or float64 tensor, but got Comp|linalg\.pinv\(Complex"
)

#: Functions near their poles, and of matrices close to singular, get arguments with errors too.
#: Sums as well, whose errors are relative to the terms.
STEEP = re.compile(
    r"gamma|zeta|tan|pow|linalg|matrix|solve|chol|inverse|logdet|sum|mean|cross|norm"
)

#: Where torch refuses and this library computes, on purpose: lines and torch's errors.
DELIBERATE = (
    (r"tanhshrink|softsign", r"bool|Bool"),  # results as of zeros and ones
    (
        r"^(with .*: )?[\w, ]+ = (?!.*_\()",
        r"can't be cast to the desired output type",
    ),  # of losses of integers
    (r".", r"automatic differentiation for outputs with complex dtype"),
    (r"isin\(", r"view size is not compatible"),  # of what is not contiguous
)

#: What is said of a value that rounding errors set apart: nothing can be said of what follows.
EXCUSED = "rounding errors"

counts: Counter[str] = Counter()


@dataclass(frozen=True)
class Deviation:
    """A line at which the libraries part, and how."""

    line: str
    what: str

    def kind(self) -> str:
        """The line and the difference without names and numbers: equal for equal causes."""
        return without_names(self.line)


def without_names(line: str) -> str:
    """A line of a program with the same sign for all names and numbers."""
    line = re.sub(r"-?\b(?:[gh]?_?a\d+|x\d+(?:_\d+)?|\d+(?:\.\d+)?|True|False)\b", "_", line)
    return re.sub(r"_(?:, _)+", "_", line)


class RoundingErrors(TorchDispatchMode):
    """Changes the results of all torch operators that round, by about one rounding error."""

    EXACT = re.compile(
        r"view|reshape|expand|permute|transpose|squeeze|select|slice|unbind|split|clone|copy|"
        r"detach|index|gather|cat|stack|floor|ceil|round|trunc|sign|neg|abs|relu|max|min|sort|where|fill|"
        r"zero|ones|full|empty|flip|roll|diag|tri|unfold|alias|as_strided|conj|real|imag|scalar|"
        r"topk|median|mode|eye|arange|repeat|masked|scatter|put|take|pad|nan_to_num|t\.default"
    )

    def __init__(self, seed: int) -> None:
        super().__init__()
        self.generator = torch.Generator().manual_seed(seed)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if STEEP.search(str(func)) and "_." not in str(func):
            args = [self.moved(x) for x in args]
        made = func(*args, **(kwargs or {}))
        if not self.EXACT.search(str(func)):
            for x in made if isinstance(made, (tuple, list)) else (made,):
                if isinstance(x, torch.Tensor) and x.dtype in EPSILON and x.numel():
                    with contextlib.suppress(RuntimeError):  # elements of an expanded tensor
                        x.mul_(self.factors(x, 2e-9 if "polygamma" in str(func) else 0.0))
        return made

    def moved(self, x: Any) -> Any:
        if isinstance(x, torch.Tensor) and x.dtype in EPSILON and x.numel():
            return (x * self.factors(x)).to(x.dtype)
        return x

    def factors(self, x: Any, least: float = 0.0) -> Any:
        drawn = torch.rand(x.shape, generator=self.generator, dtype=torch.float64) * 2 - 1
        return (1 + drawn * max(EPSILON[x.dtype], least)).to(
            x.dtype if x.dtype not in HALF else torch.float32
        )


HALF = (torch.float16, torch.bfloat16)


def array_of(value: Any) -> np.ndarray[Any, Any]:
    """The elements of a tensor of either library, or a number."""
    if isinstance(value, (torch.Tensor, numbagrad.Tensor)):
        x = value.detach().resolve_conj().resolve_neg()
        if "bfloat16" in str(x.dtype):
            x = x.float()
        return np.array(x.numpy(force=True))
    return np.asarray(value)


def kind_of(value: Any) -> str:
    return str(value.dtype).rpartition(".")[2] if hasattr(value, "dtype") else type(value).__name__


def is_tensor(value: Any) -> bool:
    return isinstance(value, (torch.Tensor, numbagrad.Tensor))


def shown(value: Any) -> str:
    return str(array_of(value).tolist())[:300]


def unlike(ours: Any, theirs: Any, second: bool = False) -> str:
    """What sets two results apart, values aside; empty where nothing does.

    Of gradients of gradients, ``second``, none and zeros are the same.
    """
    if second and (ours is None or theirs is None):
        return ""
    if is_tensor(ours) != is_tensor(theirs):
        return f"{type(ours).__name__} for {type(theirs).__name__}"
    if not is_tensor(ours):
        known = {numbagrad.Size: "Size", torch.Size: "Size", numbagrad.dtype: "dtype",
                 torch.dtype: "dtype"}  # fmt: skip
        kinds = [known.get(type(x), type(x).__name__) for x in (ours, theirs)]
        return "" if kinds[0] == kinds[1] else f"{kinds[0]} for {kinds[1]}"
    for name in ("shape", "dtype", "requires_grad", "is_leaf"):
        if name in ("requires_grad", "is_leaf") and second:
            continue
        mine, other = property_of(ours, name), property_of(theirs, name)
        mine, other = (tuple(mine), tuple(other)) if name == "shape" else (mine, other)
        if name == "dtype":
            mine, other = kind_of(ours), kind_of(theirs)
        if mine != other and other is not UNKNOWN:
            return f"{name} {mine} for {other}"
    nodes = property_of(ours, "grad_fn"), property_of(theirs, "grad_fn")
    if nodes[1] is not UNKNOWN and (nodes[0] is None) != (nodes[1] is None):
        return f"grad_fn {nodes[0]} for {nodes[1]}"
    return ""


#: A property of one of several views that one call made, of which torch only says that their memory
#: was written: through detach() too, which no history shows.
UNKNOWN = object()


def property_of(tensor: Any, name: str) -> Any:
    """A property of a tensor, or the class of what it raises: of a view whose base was written."""
    try:
        return getattr(tensor, name, None)
    except RuntimeError as error:
        return UNKNOWN if "returns multiple views" in str(error) else RuntimeError


def parts_of(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Real and imaginary parts along a last dimension; both NaN where one is not finite.

    Which of infinity and NaN a product of complex numbers has depends on whether a real factor is
    given an imaginary part of zero first, as torch does.
    """
    array = np.where(np.isfinite(array), array, complex(np.nan, np.nan))
    return np.stack([array.real, array.imag], -1)


def differing(ours: Any, theirs: Any) -> np.ndarray[Any, Any]:
    """Which elements differ by more than a few rounding errors."""
    mine, other = array_of(ours), array_of(theirs)
    if mine.dtype.kind not in "fc":
        return np.asarray(mine != other)
    tolerance = ROUNDING.get(kind_of(theirs), 1e-11)
    if mine.dtype.kind == "c":
        mine, other = parts_of(mine), parts_of(other)
    finite = np.abs(other[np.isfinite(other)])
    with np.errstate(all="ignore"):
        close = np.isclose(
            mine, other, tolerance, tolerance * finite.max(initial=1), equal_nan=True
        )
    return ~close


def by_rounding(ours: Any, theirs: Any, where: np.ndarray[Any, Any], shaken: list[Any]) -> bool:
    """Whether rounding errors inside torch make as much of a difference at all these elements."""
    mine, other = array_of(ours), array_of(theirs)
    if mine.dtype.kind == "c":
        mine, other = parts_of(mine), parts_of(other)
    spread = np.zeros(other.shape)
    jumped = np.zeros(other.shape, bool)
    for each in shaken:
        if each is None:
            return True  # with other rounding errors, torch raises
        moved = array_of(each)
        if moved.dtype.kind == "c":
            moved = parts_of(moved)
        if moved.shape != other.shape:
            return True
        with np.errstate(all="ignore"):
            if other.dtype.kind == "b" or other.dtype.kind in "iu":
                jumped |= moved != other
            else:
                change = np.abs(moved.astype(float) - other)
                jumped |= ~np.isfinite(change) & ~(np.isnan(moved) & np.isnan(other))
                jumped &= ~((moved == other) & np.isinf(other))
                spread = np.fmax(spread, np.where(np.isfinite(change), change, 0))
    if kind_of(theirs) in ("float16", "bfloat16"):
        jumped |= ~np.isfinite(other)  # torch rounds between operators, numbagrad at the end
    with np.errstate(all="ignore"):
        excused = jumped | (np.abs(mine.astype(float) - other) <= 30 * spread)
    return bool(excused[where].all())


class Run:
    """One library running a program, with the exceptions that it raises."""

    def __init__(self, library: Any) -> None:
        self.scope: dict[str, Any] = {"t": library}

    def line(self, text: str) -> Exception | None:
        if self.scope["t"] is torch and ".register_hook(" in text:
            # torch ends the process for a view whose history nobody asked for since it was written.
            property_of(self.scope.get(text.split(".register_hook(")[0].split()[-1]), "grad_fn")
        try:
            exec(text, self.scope)
        except Exception as error:  # compared with what the other library raises
            return error
        return None

    def names(self) -> list[str]:
        return [x for x in self.scope if x != "t" and not x.startswith("__")]


def targets(line: str) -> list[str]:
    """The names that a line binds or writes."""
    line = re.sub(r"^with [^:]*: ", "", line)
    found = re.match(r"([\w, ]+?),? [^\w=\s]*= ", line)
    if found:
        return found[1].split(", ")
    found = re.match(r"(?!t\b)\w+", line)
    return [found[0]] if found else []


#: Functions of which torch saves copies that it made: to multiply matrices, to scale arguments.
SAVES_OTHERS = (
    r"matmul| @ |tensordot|einsum|linear\(|inner\(|bilinear|addbmm|kron|ndtr|tanhshrink|lu\("
)


def is_stricter(lines: list[str], message: str) -> bool:
    """Whether this error of the last line is one that torch forgets in some cases."""
    line = lines[-1]
    if is_backward(line) and "modified by an inplace operation" in message:
        return any([re.search(SAVES_OTHERS, x) for x in lines])
    if is_backward(line) and "has been detached in-place" in message:
        return True  # of what torch saves as an output
    if "attention(" in line and "cannot be multiplied" in message:
        return True  # where one is empty, it does not compare sizes
    if "inference_mode" in line and "Inference tensors cannot be saved" in message:
        return True  # by the derivatives of derivatives that torch writes otherwise
    if "out of bounds" in message and re.search(r"\[.*\] \S*= ", line):
        return True  # of indices by which nothing is written
    if ".as_strided(" in line and "out of bounds for storage" in message:
        return True  # memory of a mean that held the terms
    if is_backward(line) and "does not require grad" in message:
        return any(["requires_grad_()" in x for x in lines])  # views made before count in torch
    return (
        (
            "logical_" in line
            and "leaf Variable" in message  # it has no derivative that would look
        )
        or ("einsum" in line and "same dtype" in message)
        or "refers to a single memory location" in message  # it only warns, where it fills masks
        or (  # of sums over one element it makes products
            # It leaves the columns that only full matrices have out, and divides by zero.
            is_backward(line)
            and re.search("any basis of what is left|is not invertible|is singular", message)
            is not None
        )
    )


def is_backward(line: str) -> bool:
    return "autograd." in line or "backward(" in line


def may_work(line: str, message: str) -> bool:
    """Whether there may be a result where torch raises an error with this message."""
    if MAY_WORK.search(message) or is_backward(line) and MAY_WORK_BACKWARD.search(message):
        return True
    return any([re.search(a, line) and re.search(b, message) for a, b in DELIBERATE])


def same_class(ours: Exception, theirs: Exception) -> bool:
    """Whether both raise the same; a TypeError stands for what torch's Python stumbles over."""
    if re.search(
        "same dtype|dtypes match|leaf Variable|without overflow|single memory location|"
        "multiple views|has no dimensions|out of DATA bounds|to indexing result of shape|"
        "Unsupported dtype|expects a real input tensor|Index to scalar can have only 1 value",
        str(theirs),
    ):
        return True  # of two things wrong, each library finds another one first
    if isinstance(theirs, NotImplementedError) and "not implemented for" in str(theirs):
        return True  # torch looks for a kernel first
    if isinstance(theirs, AttributeError) and "' object has no attribute" in str(theirs):
        return isinstance(ours, TypeError)
    if isinstance(theirs, ValueError) and re.match("Einstein sum|Size of label", str(theirs)):
        return isinstance(
            ours, RuntimeError
        )  # of opt_einsum, which torch uses where it is installed
    if type(theirs).__name__ == "_LinAlgError":
        return isinstance(ours, numbagrad.linalg.LinAlgError)
    return isinstance(ours, type(theirs)) or isinstance(theirs, type(ours))


def deviation(lines: list[str]) -> Deviation | None:
    """The first line at which numbagrad does otherwise than torch."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        found = _deviation(lines)
    return found


def _deviation(lines: list[str]) -> Deviation | None:
    mine, other = Run(numbagrad), Run(torch)
    other.scope["__builtins__"] = mine.scope["__builtins__"] = __builtins__
    for number, line in enumerate(lines):
        their_error, our_error = other.line(line), mine.line(line)
        # Nothing is called where an earlier line failed and left a name without a value.
        counts["calls"] += not isinstance(their_error, NameError)
        second = line.startswith("h_")
        if their_error is not None:
            counts["torch raises"] += 1
            if our_error is not None:
                if not (
                    same_class(our_error, their_error)
                    or _is_empty(line, other)
                    or MISSING.search(str(our_error))
                ):
                    return Deviation(line, f"{our_error!r} for {their_error!r}"[:600])
                if is_backward(line) or partly_written(line, mine, other):
                    return None  # torch has done a part of it before it raised
                continue
            if "inplace operation" in str(their_error):
                return _overwritten(lines[: number + 1], mine, second)
            if "created in no_grad mode" in str(their_error) and any(
                [is_gradient(x, lines) for x in targets(line)]
            ):
                return None
            if is_backward(line) and _scatters(lines[:number]):
                return None  # torch's gradient wants an index as large as the source
            if may_work(line, str(their_error)) or (
                _is_empty(line, other) and "must be divisible by" in str(their_error)
            ):
                counts["more than torch"] += 1
                if not re.match(r"(with [^:]*: )?[\w, ]+ = ", line):
                    return None
                for name in targets(line):
                    mine.scope.pop(name, None)
                continue
            return Deviation(line, f"no exception for {their_error!r}"[:600])
        if our_error is not None:
            if MISSING.search(str(our_error)) or is_stricter(lines[: number + 1], str(our_error)):
                counts["less than torch"] += 1
                return None
            if _is_empty(line, other) and re.search(EMPTY, str(our_error)):
                return None  # torch looks for its kernel when there is something to compute
            return Deviation(line, f"{our_error!r} for a result"[:600])
        if line.startswith(("g_", "h_", "loss.backward")):
            roots = ["loss"] if line[0] != "h" else [x for x in other.scope if x[:2] == "g_"]
            counts["nodes of gradients"] += nodes_behind([other.scope[x] for x in roots])
        for name in targets(line):
            what = _compared(name, lines[: number + 1], mine, other, second)
            if what.startswith("requires_grad") and _is_constant(name, mine, other):
                return None
            if what == EXCUSED:
                return None
            if what and is_accident(lines[: number + 1], other):
                return None
            if what:
                return Deviation(line, f"{name}: {what}")
            if not_followed(other.scope.get(name)):
                return None
    for name in other.names():
        what = _compared(name, lines, mine, other, name.startswith("h_"))
        if what == EXCUSED:
            return None
        if what:
            return Deviation(lines[-1], f"in the end, {name}: {what}")
        value = other.scope[name]
        if isinstance(value, torch.Tensor) and property_of(value, "is_leaf") is True:
            name = f"{name}.grad"
            what = _compared(name, lines, mine, other, False)
            if what == EXCUSED or what and is_accident(lines, other):
                return None
            if what.startswith("requires_grad") and _is_constant(name, mine, other):
                return None
            if what:
                return Deviation(lines[-1], f"in the end, {name}: {what}")
    return None


def _scatters(lines: list[str]) -> bool:
    return any(["scatter_reduce" in x for x in lines])


def nodes_behind(roots: list[Any]) -> int:
    """How many nodes a backward of torch from these tensors goes through."""
    known = set()
    waiting = [x.grad_fn for x in roots if isinstance(x, torch.Tensor)]
    while waiting:
        node = waiting.pop()
        if node is not None and node not in known:
            known.add(node)
            waiting.extend([x for x, _ in node.next_functions])
    return len(known)


#: What torch looks at only where there is something to compute.
EMPTY = "not implemented|dtype|Dimension out of range|out of bounds"


def partly_written(line: str, mine: Run, other: Run) -> bool:
    """Whether torch wrote some elements before it raised."""
    for name in targets(line):
        ours, theirs = mine.scope.get(name), other.scope.get(name)
        if isinstance(theirs, torch.Tensor) and (
            ours is None or unlike(ours, theirs) or differing(ours, theirs).any()
        ):
            return True
    return False


def not_followed(value: Any) -> bool:
    """Whether torch takes a view for one with a history that it lost while nothing was recorded."""
    return (
        isinstance(value, torch.Tensor)
        and value._is_view()
        and value.requires_grad
        and property_of(value, "grad_fn") in (None, RuntimeError)
    )


def is_accident(lines: list[str], other: Run) -> bool:
    """Whether a difference at the last line is one that torch leaves to chance, or gets wrong."""
    line = lines[-1]
    found = re.search(
        r"\bt\.(?:kthvalue|topk|(?:arg)?sort)\((\w+)|\b(?!t\.)(\w+)\.(?:kthvalue|topk|(?:arg)?sort)\(",
        line,
    )
    if found:  # which of equal elements is the k-th, and in which order they are
        source = other.scope.get(found[1] or found[2])
        if not isinstance(source, torch.Tensor):
            return False
        return bool(source.unique().numel() < source.numel())
    if "cholesky_ex(" in line:  # what LAPACK leaves behind where there is no factor
        orders = re.sub(r".*? = |\[0\].contiguous\(\)", "", line) + "[1]"
        return bool(eval(orders, other.scope).any())
    if "lstsq(" in line:  # torch's gelsy takes the order of columns from the matrix before
        return True
    if "std_mean(" in line or "var_mean(" in line:  # it subtracts infinities for the mean
        found = re.search(r"_mean\((\w+)", line)
        return found is not None and not bool(other.scope[found[1]].isfinite().all())
    if "nanquantile(" in " ".join(lines) and is_backward(line):
        return True  # which of equal elements
    if "solve_triangular(" in line:  # it takes the memory of one dtype for that of another
        named = [other.scope.get(x) for x in re.findall(r"\b[ax]\d\w*", line)]
        return len({x.dtype for x in named if isinstance(x, torch.Tensor)}) > 1
    if re.search(r"linalg\.|_solve\(", line):  # decompositions of what is not finite
        named = [other.scope.get(x) for x in re.findall(r"\b[ax]\d\w*", line.split(" = ")[-1])]
        named = [x for x in named if isinstance(x, torch.Tensor)]
        if not all([x.isfinite().all() for x in named]):
            return True
        if "svd(" in line and any([x.dim() > 1 and x.shape[-1] != x.shape[-2] for x in named]):
            return True  # the vectors beyond the rank are any basis
    found = re.search(r"(\w+)\.(?:(?:to|type)\(t\.u?int|type_as\()", line)
    if found:  # no integer is NaN
        source = other.scope[found[1]]
        return not bool(source.isfinite().all())
    if reads_what_it_writes(line, other):
        return True
    found = re.search(r"t\.cdist\((\w+), (\w+)\)", line)
    if found:  # by a product of matrices, whose rounding is that of squares
        return any([other.scope[x].shape[-2] > 25 for x in found.groups()])
    if re.search(r"linalg\.eig(vals)?\(", line):
        return True  # eigenvalues have no order
    found = re.search(r"(\w+)\.view\(t\.u?int", line)
    signs = re.search(r"t\.signbit\((\w+)|(\w+)\.signbit\(", line)
    for name in (found and found[1], signs and (signs[1] or signs[2])):
        if name:  # the sign and the payload of NaN
            return bool(other.scope[name].isnan().any())
    if re.search(r"/|%|reciprocal|div|remainder|fmod", line) and any(
        [re.search(r"t\.fft\.|jacfwd|\.cross\(", x) for x in lines]
    ):
        return True  # of zeros of either sign, or almost zeros
    if "._is_view()" in line and any(["t.fft." in x for x in lines]):
        return True  # of a copy that only torch makes
    if re.search(r"\w+\._is_view\(\)", line):
        return is_gradient(line.split(" = ")[1].split(".")[0], lines)  # of a sum it is expanded
    if "linalg.cond(" in line:
        found = array_of(other.scope[targets(line)[0]])
        return bool((found * EPSILON[torch.float32] > 1e-3).any())  # of singular matrices
    # torch's gradient goes to the elements that were replaced, and to no others; or to a triangle
    # that nobody reads; or it takes powers of 2 among integers, where negative exponents give 0.
    wrong = "as_strided_scatter|cholesky_(inverse|solve)|ldexp"
    return is_backward(line) and any([re.search(wrong, x) is not None for x in lines])


def is_gradient(name: str, lines: list[str]) -> bool:
    """Whether a line names what ``autograd.grad`` returned."""
    made = r"autograd\.grad\(|linalg\.cond\("  # and what else torch returns as a view
    return any([re.search(made, x) and name in targets(x) for x in lines])


def reads_what_it_writes(line: str, other: Run) -> bool:
    """Whether a write in place reads its tensor by another view, or elements in another order."""
    found = re.match(r"(?:with [^:]*: )?(\w+)(?:\.\w+_\(|\[.*\] = | \S+= )(.*)", line)
    if not found or (" = " in line and "] = " not in line):
        return False
    written = other.scope.get(found[1])
    for name in re.findall(r"\b[ax]\d\w*", found[2]):
        read = other.scope.get(name)
        if isinstance(read, torch.Tensor) and isinstance(written, torch.Tensor):
            same = read.untyped_storage().data_ptr() == written.untyped_storage().data_ptr()
            if same and (read.stride() != written.stride() or "masked_scatter_" in line):
                return True
            if same and read.storage_offset() != written.storage_offset():
                return True
    return False


def _is_empty(line: str, other: Run) -> bool:
    """Whether a line names a tensor without elements."""
    named = [other.scope.get(x) for x in re.findall(r"\b[ax]\d\w*", line)]
    return any([isinstance(x, torch.Tensor) and not x.numel() for x in named])


def _is_constant(name: str, mine: Run, other: Run) -> bool:
    """Whether what has a history in one library alone has one that leads to nothing but zeros.

    Torch records what is computed of views that were made without recording; and gradients that do
    not depend on an input may have a history in either.
    """
    run = mine if value_of(mine.scope, name).requires_grad else other
    value = value_of(run.scope, name)
    if not value.is_floating_point() and not value.is_complex():
        return True
    if property_of(value, "grad_fn") in (None, RuntimeError):
        return bool(value._is_view())
    tensors = [x for x in run.scope.values() if is_tensor(x)]
    leaves = [x for x in tensors if property_of(x, "is_leaf") is True and x.requires_grad]
    library = run.scope["t"]
    total = library.view_as_real(value).sum() if value.is_complex() else value.sum()
    try:
        second = library.autograd.grad(total, leaves, allow_unused=True, retain_graph=True)
    except RuntimeError:
        return library is torch  # which has no such derivative
    return not any([x is not None and bool(x.nan_to_num(0).any()) for x in second])


def value_of(scope: dict[str, Any], name: str) -> Any:
    first, _, rest = name.partition(".")
    return getattr(scope.get(first), rest) if rest else scope.get(first)


def _compared(name: str, lines: list[str], mine: Run, other: Run, second: bool) -> str:
    """How a value differs; empty where it does not, `EXCUSED` where rounding errors explain it."""
    ours, theirs = value_of(mine.scope, name), value_of(other.scope, name)
    what = unlike(ours, theirs, second)
    if what:
        return what
    if second and (ours is None or theirs is None):
        given = theirs if ours is None else ours
        if given is None or not array_of(given).any():
            return ""
        return f"{shown(ours) if ours is not None else None} for {theirs}"
    if theirs is None or isinstance(theirs, (str, torch.dtype)) or callable(theirs):
        return "" if str(ours).rpartition(".")[2] == str(theirs).rpartition(".")[2] else (
            f"{ours} for {theirs}")  # fmt: skip
    if isinstance(theirs, (list, tuple)):
        if any([is_tensor(x) for x in theirs]):
            return ""  # results without names of their own, as torch raised when the line was made
        ours, theirs = np.asarray(ours), np.asarray(theirs)
        if ours.shape != theirs.shape:
            return f"shape {ours.shape} for {theirs.shape}"
    where = differing(ours, theirs)
    if where.any() and is_backward(lines[-1]):
        mine_nan, other_nan = [
            np.isnan(parts_of(x) if x.dtype.kind == "c" else x.astype(float))
            for x in (array_of(ours), array_of(theirs))
        ]
        if other_nan.any() and (second or any([re.search(r"linalg|\blu\(", x) for x in lines])):
            if second and not mine_nan.any():
                return EXCUSED
            where = where & ~mine_nan  # products of matrices cut otherwise spread it further
        # Formulas here are masked where torch multiplies zero by infinity.
        where = where & (mine_nan | ~other_nan)
    if not where.any():
        return ""
    shaken: list[Any] = []
    for seed in range(8):
        shaken.append(_shaken(lines, name, seed))
        if by_rounding(ours, theirs, where, shaken):
            counts["excused as rounding"] += 1
            return EXCUSED
    return f"{shown(ours)} for {shown(theirs)}"


def _shaken(lines: list[str], name: str, seed: int) -> Any:
    """The value of a name when each operator of torch makes another rounding error."""
    run = Run(torch)
    with RoundingErrors(seed):
        for line in lines:
            run.line(line)
        found = value_of(run.scope, name)
        if found is None:
            return None
        return found.detach().clone() if isinstance(found, torch.Tensor) else np.asarray(found)


def writes_behind(line: str, other: Run) -> bool:
    """Whether a line writes a view that begins behind its base.

    torch's context for overwritten tensors knows memory by its first address and does not see it.
    """
    if not re.search(r"_\(|\] \S*= |^\w+ [^\w\s]+= ", line):
        return False
    named = [other.scope.get(x) for x in targets(line)]
    return any([isinstance(x, torch.Tensor) and x.storage_offset() > 0 for x in named])


def _overwritten(lines: list[str], mine: Run, second: bool) -> Deviation | None:
    """Compare the results of a last line that torch refuses because of what was overwritten."""
    if any([x.startswith("with t.inference_mode()") for x in lines]):
        return None  # where that context sees no write
    other = Run(torch)
    with torch.autograd.graph.allow_mutation_on_saved_tensors():
        for line in lines:
            error = other.line(line)
        if error is not None:
            return None
        for name in targets(lines[-1]):
            what = unlike(value_of(mine.scope, name), value_of(other.scope, name), second)
            if not what:
                what = _compared(name, lines, mine, other, second)
            if what.startswith("requires_grad") and _is_constant(name, mine, other):
                return None
            if is_accident(lines, other):
                return None
            if what == EXCUSED or any([writes_behind(x, other) for x in lines]):
                return None
            if what:
                return Deviation(lines[-1], f"{name}, overwritten in torch: {what}")
    return None


def shortest(lines: list[str]) -> list[str]:
    """The program without the lines and terms that a deviation of the same kind does without."""
    found = deviation(lines)
    if found is None:
        return lines

    def same(fewer: list[str]) -> bool:
        again = deviation(fewer)
        return again is not None and again.kind() == found.kind()

    for position in reversed(range(len(lines))):
        if lines[position].startswith("loss = "):
            for term in lines[position][7:].split(" + "):
                fewer = [*lines[:position], f"loss = {term}", *lines[position + 1 :]]
                if same(fewer):
                    lines = fewer
                    break
        fewer = lines[:position] + lines[position + 1 :]
        if same(fewer):
            lines = fewer
    return lines


def report(lines: list[str]) -> tuple[str, str]:
    """A deviation as a program that can be run in either library, and what it consists of."""
    before = Counter(counts)
    lines = shortest(lines)
    found = deviation(lines)
    counts.clear()
    counts.update(before)
    if found is None:
        found = Deviation(lines[-1], "a difference that does not come again")
    program = "\n".join(["    " + each for each in ["import numbagrad as t  # or: torch", *lines]])
    consists = " ; ".join([without_names(x) for x in lines if not x.startswith("a")])
    return f"{found.what}\n  at  {found.line}\n  in\n{program}\n", consists
