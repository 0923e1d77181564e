"""Files that are almost checkpoints, made from a seed, and a child process that loads them.

``test_checkpoint_fuzz.py`` loads some. By hand::

    python tests/checkpoint_fuzz.py FIRST_SEED COUNT

loads that many in this process, and ends with a line of counts, or at the first file that did what
no file may: run something, take memory that its size does not justify, or give other things than
data. A crash names its seed on the last line of standard error.
"""

import collections
import datetime
import io
import math
import pickle
import pickletools
import random
import resource
import signal
import sys
import types

import former_checkpoints
import numpy as np
from former_checkpoints import HEADS, in_first_format, packed

import numbagrad as ng
from numbagrad import nn, optim
from numbagrad.serialization import allowed, legacy_names, storages, torch_names, values
from numbagrad.serialization.archive import Archive, ArchiveWriter

#: Stands for torch's format, where the others have what their files begin with.
ARCHIVE = b"PK"
FORBIDDEN = [
    ("os", "system"), ("posix", "system"), ("builtins", "eval"), ("builtins", "exec"),
    ("builtins", "getattr"), ("builtins", "__import__"), ("builtins", "type"),
    ("subprocess", "Popen"), ("numpy", "load"), ("numpy", "frombuffer"), ("numpy", "memmap"),
    ("numpy.core.multiarray", "_reconstruct"), ("numpy._core.multiarray", "_reconstruct"),
    ("numpy", "ndarray"), ("numpy", "dtype"), ("functools", "partial"),
    ("operator", "attrgetter"),
    ("collections", "OrderedDict.fromkeys"), ("collections", "namedtuple"),
    ("copyreg", "__newobj__"),
    ("numbagrad", "load"), ("numbagrad.tensor", "Tensor._array"),
    ("numbagrad.tensor", "new_tensor"),
    ("numbagrad.tensor", "_rebuilt"), ("numbagrad.serialization.values", "Memory"),
    ("numbagrad.serialization.values", "leaf"), ("numbagrad.serialization.values", "ctypes"),
    ("_pickle", "Unpickler"), ("pickle", "loads"), ("ctypes", "string_at"), ("", ""),
]  # fmt: skip
DATA = frozenset((
    type(None), bool, int, float, complex, str, bytes, bytearray, list, tuple, dict, set, frozenset,
    slice, range, object, collections.OrderedDict, collections.Counter, collections.defaultdict,
    collections.deque, datetime.date, datetime.time, datetime.datetime, datetime.timedelta,
    datetime.timezone, ng.Tensor, nn.Parameter, nn.Buffer, ng.dtype, ng.device, ng.Size, np.ndarray,
    values.Memory, storages.StorageType, storages.StoredMemory,
    ng.layout, ng.memory_format,
))  # fmt: skip


def samples():
    """Objects as programs save them."""
    net = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))
    optimizer = optim.Adam(net.parameters())
    net(ng.ones(4, 2)).sum().backward()
    optimizer.step()
    x = ng.arange(12.0).reshape(3, 4)
    marked = nn.Parameter(ng.ones(2))
    marked.tag = "decay"
    zone = datetime.timezone(datetime.timedelta(hours=1))
    return [
        {"net": net.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 3},
        [x, x[1:, ::2], x.t(), x[0].detach(), x, ng.ones(1).expand(5), marked, nn.Buffer(x[0])],
        [ng.tensor(True), ng.ones(2).bfloat16(), ng.zeros(0, 3), ng.tensor([1j]), ng.int8],
        {"size": x.shape, "device": ng.device("cpu"), 3: {1, 2}, (1, "k"): frozenset((4,))},
        [np.float32(2), np.int64(1), np.str_("text"), np.datetime64("2020-01-01"), np.bool_(True)],
        [np.arange(6).reshape(2, 3).T, np.array(["a", "bc"]), np.zeros(3, ">f8"), np.dtype("i4")],
        [collections.Counter("aab"), collections.defaultdict(list, a=[1]), 2.5, 10**30, None],
        [collections.deque([1], 4), 3 + 2j, bytearray(b"x"), b"y" * 300, slice(1, None), range(3)],
        [datetime.datetime(2020, 1, 2, tzinfo=zone), datetime.date(2020, 2, 3), datetime.time(1)],
    ]


def archived(content, memory=()):
    """A file of torch's format with pickle's part ``content`` and the bytes of storages."""
    file = io.BytesIO()
    archive = ArchiveWriter(file.write)
    archive.entry("data.pkl", content)
    archive.entry("byteorder", b"little")
    for number, each in enumerate(memory):
        archive.entry(f"data/{number}", each)
    archive.entry("version", b"3\n")
    archive.close()
    return file.getvalue()


def whole(head, body, memory=()):
    """A file of one of the formats."""
    return archived(body, memory) if head == ARCHIVE else packed(body, head)


def _in_archive(content):
    """Pickle's part of a file of torch's format, and the bytes of its storages."""
    archive = Archive(content, "sample")
    count = sum(name.startswith("data/") for name in archive.names())
    return archive.read("data.pkl"), [archive.read(f"data/{k}") for k in range(count)]


def _parts(content):
    """The opcodes of a pickle, each with its argument, as bytes. Frames would end elsewhere."""
    positions = [position for _, _, position in pickletools.genops(content)] + [len(content)]
    parts = [content[a:b] for a, b in zip(positions, positions[1:], strict=False)]
    return [part for part in parts if part[:1] != pickle.FRAME]


class Grammar:
    """Makes files from seeds."""

    def __init__(self):
        self.bases = []
        for value in samples():
            for protocol in (2, 4, 5):
                file = io.BytesIO()
                former_checkpoints.save(value, file, protocol)
                body = file.getvalue()[len(HEADS[0]) : -32]
                self.bases.append((HEADS[0], body, _parts(body), ()))
                file = io.BytesIO()
                ng.save(value, file, pickle_protocol=protocol)
                body, memory = _in_archive(file.getvalue())
                self.bases += [(ARCHIVE, body, _parts(body), memory)] * 2
            for protocol in (4, 5):
                body = in_first_format(value, protocol)[len(HEADS[1]) : -32]
                self.bases.append((HEADS[1], body, _parts(body), ()))
        self.parts = [part for _, _, parts, _ in self.bases for part in parts]
        names = [sorted(each.NAMES) for each in (allowed, legacy_names, torch_names)]
        self.names = sum(names, []) + FORBIDDEN
        self.opcodes = [each.code.encode("latin1") for each in pickletools.opcodes]

    def file(self, seed):
        """The file of a seed."""
        draw = random.Random(seed)
        head, body, parts, memory = draw.choice(self.bases)
        how = draw.random()
        if how < 0.5:
            changed = list(parts)
            for _ in range(draw.choice((1, 1, 2, 4, 8))):
                self._change(changed, draw)
            body = b"".join(changed)
        elif how < 0.7:
            calls = b"".join(self._call(draw) for _ in range(draw.choice((1, 1, 1, 2, 4))))
            head, body = draw.choice((HEADS[0], ARCHIVE)), b"\x80\x02(" + calls + b"l."
        elif how < 0.85:
            head, body = draw.choice((*HEADS, ARCHIVE)), self._program(draw)
        elif how < 0.92:
            body = body[: draw.randrange(len(body))]
        else:
            damaged = bytearray(body)
            for _ in range(draw.choice((1, 2, 5))):
                damaged[draw.randrange(len(damaged))] = draw.randrange(256)
            body = bytes(damaged)
        if head == ARCHIVE and draw.random() < 0.2:
            return self._damaged(whole(head, body, memory), draw)
        return whole(head, body, memory)

    def _damaged(self, content, draw):
        """An archive with other bytes, mostly in its directory, or cut off."""
        if draw.random() < 0.2:
            return content[: draw.randrange(4, len(content))]
        damaged = bytearray(content)
        first = draw.choice((4, content.rfind(b"PK\x01\x02"), content.rfind(b"PK\x05\x06")))
        for _ in range(draw.choice((1, 2, 5))):
            damaged[draw.randrange(first, len(damaged))] = draw.choice(
                (0, 1, 255, draw.getrandbits(8))
            )
        return bytes(damaged)

    def _change(self, parts, draw):
        position = draw.randrange(len(parts))
        how = draw.randrange(9)
        if how == 0:
            del parts[position]
            parts.append(pickle.STOP)
        elif how == 1:
            parts.insert(position, self._part(draw))
        elif how == 2:
            parts[position] = self._part(draw)
        elif how == 3:
            other = draw.randrange(len(parts))
            parts[position], parts[other] = parts[other], parts[position]
        elif how == 4:
            start = draw.randrange(len(parts))
            parts[position:position] = parts[start : start + draw.randrange(1, 20)]
        elif how in (5, 6, 7):
            # Another value of the same kind, so that constructors are called with it.
            kinds = [k for k, part in enumerate(parts) if part[:1] in b"KJMIGNX\x8c\x88\x89cCB"]
            if kinds:
                parts[draw.choice(kinds)] = self._value(draw)
        else:
            _, _, others, _ = draw.choice(self.bases)
            start = draw.randrange(len(others))
            parts[position:position] = others[start : start + draw.randrange(1, 20)]

    def _program(self, draw):
        parts = [pickle.PROTO + bytes((draw.randrange(6),))]
        for _ in range(draw.randrange(1, 60)):
            how = draw.random()
            if how < 0.25:
                parts.append(self._value(draw))
            elif how < 0.4:
                parts += [self._name(draw), self._arguments(draw), pickle.REDUCE]
            elif how < 0.5:
                parts.append(self._call(draw))
            elif how < 0.6:
                parts += [self._arguments(draw), pickle.BUILD]
            else:
                parts.append(self._part(draw))
        return b"".join(parts) + pickle.STOP

    def _call(self, draw):
        """A call of a constructor with what it takes, of sizes that need not fit each other."""

        def integers(count):
            sizes = (0, 1, 2, 3, 4, 8, 16, -1, -8, 2**31, 2**62, 2**63 - 1, 10**30)
            weights = [30, 40, 40, 9, 40, 40, 20, 1, 1, 1, 1, 1, 1]
            return tuple(draw.choices(sizes, weights, k=count))

        def written(value):
            return pickle.dumps(value, 2)[2:-1]

        rank = draw.randrange(3)
        content = draw.choice((draw.randbytes(draw.randrange(64)), bytes(64)))
        memory = self._named("values", "memory") + written((content,)) + pickle.REDUCE
        name = draw.choice(
            ("float32", "float64", "bool", "bfloat16", "complex128", "int64", "int8")
        )
        text = draw.choice(("<f4", "|b1", "<U2", "|S3", "<M8[ns]", ">c16", "|V4", "|u1", "<i8") * 3)
        text = draw.choice((text, text, text, text, "|O8", "<f4,<f4"))
        if draw.random() < 0.4:
            return self._call_of_torch(draw, integers, rank, written)
        view = [written(integers(1)[0]), written(integers(rank)), written(integers(rank))]
        kind = draw.randrange(4)
        if kind == 0:
            attributes = {draw.choice(("tag", "_array", "_grad", "sum", "__class__")): None}
            cls = draw.choice((ng.Tensor, ng.Tensor, nn.Parameter, nn.Buffer, int))
            rest = [written(draw.random() < 0.2), written(draw.choice(({}, {}, attributes)))]
            parts = ["tensor", written(cls), memory, written(name), *view, *rest]
        elif kind == 1:
            parts = ["array", memory, written(text), *view]
        elif kind == 2:
            parts = ["number", written(text), written(content[: draw.choice((1, 3, 4, 8))])]
        else:
            names = ("_array_built", "x")
            parts = ["numpy_dtype", written(draw.choice((text, "<U999999999", *names)))]
        function, *arguments = parts
        whole = self._named("values", function) + b"(" + b"".join(arguments) + b"tR"
        # Several at once, which share what they can.
        return whole + draw.choice((b"", b"2", b"q\x01h\x01\x86", b"]h\x01a"))

    def _call_of_torch(self, draw, integers, rank, written):
        """A call of a function of torch's format, with a storage that may or may not be there."""
        kind = draw.choice(storages.STORAGE_TYPES)
        key, location = draw.choice("0012x"), draw.choice(("cpu", "cpu", "cpu", "cuda:0", ""))
        where = written("storage")
        name = f"ctorch{'.storage' if kind is storages.UNTYPED else ''}\n{kind.name}\n".encode()
        count = draw.choice((*integers(2), 6, 12, 48))
        storage = b"(" + where + name + written(key) + written(location) + written(count) + b"tQ"
        hooks = b"ccollections\nOrderedDict\n)R"
        view = [
            storage,
            *(written(each) for each in (integers(1)[0], integers(rank), integers(rank))),
        ]
        function = draw.choice(("_rebuild_tensor", "_rebuild_tensor_v2", "_rebuild_tensor_v3"))
        if function != "_rebuild_tensor":
            view += [written(draw.random() < 0.2), hooks]
        if function.endswith("3"):
            view.append(f"ctorch\n{draw.choice(('float32', 'bool', 'int8', 'float'))}\n".encode())
        made = f"ctorch._utils\n{function}\n(".encode() + b"".join(view) + b"tR"
        if draw.random() < 0.2:
            made = b"ctorch._utils\n_rebuild_parameter\n(" + made + b"\x88" + hooks + b"tR"
        return made

    def _named(self, module, name):
        return f"cnumbagrad.serialization.{module}\n{name}\n".encode()

    def _arguments(self, draw):
        values = [self._value(draw) for _ in range(draw.randrange(6))]
        return pickle.MARK + b"".join(values) + draw.choice((b"t", b"t", b"l", b"d"))

    def _name(self, draw):
        module, name = draw.choice(self.names)
        return b"c" + module.encode() + b"\n" + name.encode() + b"\n"

    def _value(self, draw):
        return draw.choice((
            b"K" + bytes((draw.randrange(256),)),
            b"J" + draw.choice((b"\xff" * 4, b"\xff\xff\xff\x7f", b"\0\0\0\x80", b"\x04\0\0\0")),
            b"\x8a\x09" + draw.choice((b"\xff" * 8 + b"\0", b"\0" * 7 + b"\x01\0")),
            b"G" + draw.choice((b"\x7f\xf0" + bytes(6), b"\xff" * 8, bytes(8))),
            b"N", b"\x88", b"\x89", b")", b"]", b"}", b"\x8f",
            b"X\x03\0\0\0" + draw.choice((b"f8\0", b"|b1", b"<f8", b"|O8", b"<U9")),
            b"\x8c" + draw.choice((b"\x07float32", b"\x05_grad", b"\x06_array", b"\x06strict")),
            b"C" + bytes((draw.randrange(64),)) + draw.randbytes(draw.randrange(64)),
            b"h" + bytes((draw.randrange(40),)),
            b"I" + str(draw.choice((-1, 2**63, 10**40))).encode() + b"\n",
            self._name(draw),
        ))  # fmt: skip

    def _part(self, draw):
        how = draw.random()
        if how < 0.5:
            return draw.choice(self.parts)
        if how < 0.7:
            return self._value(draw)
        if how < 0.8:
            return self._name(draw)
        return draw.choice(self.opcodes) + draw.randbytes(draw.choice((0, 0, 1, 4, 8)))


KNOWN = (*allowed.NAMES.values(), *legacy_names.NAMES.values(), *torch_names.NAMES.values())


def check_is_data(value):
    """Raise for what no checkpoint holds; read what it holds."""
    seen, left = set(), [value]
    while left:
        value = left.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        kind = type(value)
        named = isinstance(value, type) or kind is types.FunctionType
        if named and value in KNOWN:
            continue
        if kind not in DATA and not isinstance(value, (np.generic, np.dtype)):
            # (The stand-ins of an array and a dtype without a state do nothing either.)
            assert kind.__module__ == legacy_names.__name__, f"a file gave a {kind}"
        if isinstance(value, ng.Tensor):
            for name in ("_requires_grad", "_producer", "_output_nr", "_version_cell", "_viewed"):
                getattr(value, name)
            assert type(value._array) is np.ndarray and value._grad_fn is None
            left += [value._array, value._grad, *vars(value).values()]
        elif isinstance(value, np.ndarray):
            assert not value.dtype.hasobject and value.dtype.names is None
            # (Without elements there may still be many rows.)
            if value.itemsize * math.prod(max(size, 1) for size in value.shape) < 1_000_000:
                value.tobytes()
                value.tolist()
        elif isinstance(value, dict):
            left += [*value.keys(), *value.values(), *vars(value).values()] if isinstance(
                value, collections.OrderedDict
            ) else [*value.keys(), *value.values()]  # fmt: skip
        elif isinstance(value, (list, tuple, set, frozenset, collections.deque)):
            left += value


_events = []
_listening = False


def _hear(event, arguments):
    if _listening and event != "builtins.id":
        _events.append((event, str(arguments)[:200]))


def main(first, count):
    """Load ``count`` files; returns how many were loaded and how many refused."""
    global _listening
    import faulthandler

    faulthandler.enable()
    grammar = Grammar()
    # Imports what loading needs.
    others = [
        (head, body, [], ()) for head in (HEADS[0], ARCHIVE) for body in (b"Vtext\n.", b"L2L\n.")
    ]
    for head, body, _, memory in [*grammar.bases, *others]:
        ng.load(io.BytesIO(whole(head, body, memory)))
    ng.cuda.is_available()  # asked where a file names a device
    sys.addaudithook(_hear)
    held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    resource.setrlimit(resource.RLIMIT_DATA, (held + 2**28, held + 2**28))
    counts = collections.Counter()
    for seed in range(first, first + count):
        file = io.BytesIO(grammar.file(seed))
        print(f"\rseed {seed}", end="", file=sys.stderr)
        signal.alarm(10)  # its action ends the process
        try:
            _listening = True
            found = ng.load(file)
        except (pickle.UnpicklingError, RuntimeError):
            _listening = False
            found = None
            counts["refused"] += 1
        else:
            _listening = False
            counts["loaded"] += 1
        if _events:
            raise AssertionError(f"seed {seed} caused {_events}")
        check_is_data(found)
        signal.alarm(0)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - held
    print(f"{counts['loaded']} loaded, {counts['refused']} refused, {grown >> 20} MB more")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
