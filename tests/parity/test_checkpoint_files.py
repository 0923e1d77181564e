"""Checkpoints written here and read by torch, written by torch and read here, in every format."""

import io
import pickle
from collections import OrderedDict

import numpy as np
import pytest
import torch

import numbagrad as ng

DTYPES = (
    "float64 float32 float16 bfloat16 complex64 complex128 int64 int32 int16 int8 uint8 bool"
).split()


def _trained(module):
    """The states of a net, of an optimizer and of a schedule, after a step."""
    net = module.nn.Sequential(
        module.nn.Linear(2, 3), module.nn.BatchNorm1d(3), module.nn.Linear(3, 1, bias=False)
    )
    with module.no_grad():
        for parameter in net.parameters():
            parameter.copy_(module.arange(1.0, 1 + parameter.numel()).reshape(parameter.shape))
    optimizer = module.optim.AdamW(net.parameters(), lr=0.125)
    schedule = module.optim.lr_scheduler.StepLR(optimizer, 2)
    return net, optimizer, schedule


def _states(module):
    return [part.state_dict() for part in _trained(module)]


def _shared(module):
    x = module.arange(12.0).reshape(3, 4)
    return {"x": x, "row": x[1], "part": x[1:, ::2], "turned": x.t(), "same": x, "views": [x[:2]]}


def _tied(module):
    net = module.nn.Sequential(module.nn.Linear(2, 2), module.nn.Linear(2, 2))
    net[1].weight = net[0].weight
    with module.no_grad():
        for parameter in net.parameters():
            parameter.fill_(0.5)
    return net.state_dict()


def _attributes(module):
    marked = module.nn.Parameter(module.ones(2))
    marked.tag = "decay"
    frozen = module.nn.Parameter(module.arange(3.0), requires_grad=False)
    plain = module.zeros(2, requires_grad=True)
    plain.note = {"of": [1, 2]}
    return [marked, frozen, plain, module.nn.Parameter(module.eye(2))]


def _sparse(module):
    places = module.tensor([[0, 1, 1], [2, 0, 2]])
    made = module.sparse_coo_tensor(places, module.tensor([3.0, 4.0, 5.0]), (2, 4))
    return {"coo": made, "csr": made.to_sparse_csr(), "again": [made]}


#: What is saved, by a function of the module that makes it: in both libraries the same.
OBJECTS = {
    **{
        f"tensors of {name}": lambda module, name=name: [
            module.tensor([0, 1, 1, 0, 1]).to(getattr(module, name)),
            module.zeros(0, 3, dtype=getattr(module, name)),
            module.ones(2, 3, 1, dtype=getattr(module, name)).permute(2, 0, 1),
            module.tensor(1, dtype=getattr(module, name)),
        ]
        for name in DTYPES
    },
    "states": _states,
    "shared memory": _shared,
    "tied parameters": _tied,
    "parameters and attributes": _attributes,
    "numbers": lambda module: [1, -2.5, True, None, 10**30, 3 + 2j, float("inf"), "é", b"\0\xff"],
    "containers": lambda module: {"a": [(), (1, "b"), {2: {3: []}}], ("k", 1): {4, 5}},
    "ordered": lambda module: OrderedDict(b=module.ones(1), a=2),
    "names": lambda module: [
        module.Size([2, 3]), module.float16, module.bfloat16, module.int8, module.strided,
        module.device("cpu"), module.device("cuda", 1),
    ],
    "a tensor alone": lambda module: module.arange(5),
    "repeated elements": lambda module: module.ones(1, 2).expand(3, 2),
    "channels last": lambda module: module.arange(24.0).reshape(1, 2, 3, 4).contiguous(
        memory_format=module.channels_last
    ),
    "conjugated": lambda module: module.tensor([1 + 2j, 3 - 1j]).conj(),
    "sparse": _sparse,
    "a parameter of a part": lambda module: (
        lambda x: [x, x[1:].detach(), module.nn.Parameter(x[2:5])])(module.arange(9.0)),
    "no dimensions": lambda module: [module.tensor(2.5), module.tensor(True), module.tensor([])],
    "buffers": lambda module: module.nn.BatchNorm2d(3).state_dict(),
}  # fmt: skip


def described(value):
    """An object of either library in words that both have."""
    if isinstance(value, (ng.Tensor, torch.Tensor)) and str(value.layout) != "torch.strided":
        return str(value.layout), str(value.dtype), value.to_dense().tolist()
    if isinstance(value, (ng.Tensor, torch.Tensor)):
        own = {k: described(v) for k, v in vars(value).items() if k != "_memory"}
        numbers = value.detach().tolist()
        stride = value.stride() if value.numel() and min(value.stride(), default=1) else None
        kind = "Parameter" if isinstance(value, (ng.nn.Parameter, torch.nn.Parameter)) else "Tensor"
        return (
            kind, str(value.dtype), tuple(value.shape), stride, value.requires_grad,
            value.is_leaf, str(value.device), numbers, own,
            value.storage_offset() if value.numel() else 0,
        )  # fmt: skip
    if isinstance(value, dict):
        kind = "OrderedDict" if isinstance(value, OrderedDict) else "dict"
        more = described(vars(value)) if vars_of(value) else None
        return kind, [(described(k), described(value[k])) for k in value], more
    if isinstance(value, (list, tuple)):
        return type(value).__name__, [described(each) for each in value]
    if isinstance(value, (ng.dtype, torch.dtype, ng.device, torch.device, ng.layout, torch.layout)):
        return repr(value)
    return type(value).__name__, value


def vars_of(value):
    return getattr(value, "__dict__", None)


def written(module, value, **options):
    file = io.BytesIO()
    module.save(value, file, **options)
    return file.getvalue()


@pytest.mark.parametrize("name", OBJECTS)
def test_torch_reads_what_is_written_here(name):
    value = OBJECTS[name](ng)
    read = torch.load(io.BytesIO(written(ng, value)), weights_only=True)
    assert described(read) == described(value)


@pytest.mark.parametrize("name", OBJECTS)
@pytest.mark.parametrize("weights_only", [True, False])
def test_what_torch_writes_is_read_here(name, weights_only):
    value = OBJECTS[name](torch)
    for new_format in (True, False):
        content = written(torch, value, _use_new_zipfile_serialization=new_format)
        read = ng.load(io.BytesIO(content), weights_only=weights_only)
        assert described(read) == described(value)


@pytest.mark.parametrize("writer, reader", [(ng, torch), (torch, ng), (ng, ng)])
def test_elements_that_are_still_to_be_negated(writer, reader):
    pending = writer.tensor([1 + 2j, 3 - 1j]).conj().imag
    assert pending.is_neg()
    assert reader.load(io.BytesIO(written(writer, pending))).tolist() == [-2, 1]


@pytest.mark.parametrize("name", OBJECTS)
def test_what_is_written_here_is_read_here_and_mapped(name, tmp_path):
    value = OBJECTS[name](ng)
    ng.save(value, tmp_path / "x.pt")
    assert described(ng.load(tmp_path / "x.pt")) == described(value)
    assert described(ng.load(tmp_path / "x.pt", mmap=True)) == described(value)
    mapped = torch.load(tmp_path / "x.pt", mmap=True, weights_only=True)
    assert described(mapped) == described(value)
    torch.save(OBJECTS[name](torch), tmp_path / "x.pt")
    assert described(ng.load(tmp_path / "x.pt", mmap=True)) == described(value)


@pytest.mark.parametrize("writer, reader", [(ng, torch), (torch, ng), (ng, ng)])
@pytest.mark.parametrize("new_format", [True, False])
def test_memory_stays_shared(writer, reader, new_format):
    options = {"_use_new_zipfile_serialization": new_format} if writer is torch else {}
    read = reader.load(io.BytesIO(written(writer, _shared(writer), **options)))
    read["x"][1, 2] = -7
    assert read["row"][2] == -7 == read["part"][0, 1] == read["turned"][2, 1] == read["same"][1, 2]
    assert read["same"] is read["x"]
    tied = reader.load(io.BytesIO(written(writer, _tied(writer), **options)))
    assert tied["0.weight"].data_ptr() == tied["1.weight"].data_ptr()


def test_views_of_other_dtypes_are_written_so_that_torch_reads_them():
    """torch itself refuses to write them."""
    x = ng.arange(8.0)
    read = torch.load(io.BytesIO(written(ng, [x, x.view(ng.int32), x[2:4].view(ng.float64)])))
    read[0][2] = 1.0
    assert read[1][2] == 0x3F800000
    assert read[2].dtype == torch.float64 and read[2].data_ptr() == read[0][2:].data_ptr()


@pytest.mark.parametrize("writer, reader", [(ng, torch), (torch, ng), (ng, ng)])
def test_storages(writer, reader):
    read = reader.load(io.BytesIO(written(writer, writer.ones(3).untyped_storage())))
    assert read.nbytes() == 12


@pytest.mark.parametrize("writer, reader", [(ng, torch), (torch, ng), (ng, ng)])
def test_training_goes_on(writer, reader):
    def step(module, net, optimizer, schedule):
        optimizer.zero_grad()
        loss = (net(module.arange(8.0).reshape(4, 2)) ** 2).mean()
        loss.backward()
        optimizer.step()
        schedule.step()
        return loss.item()

    parts = _trained(writer)
    step(writer, *parts)
    content = written(writer, [part.state_dict() for part in parts])
    going_on = [step(writer, *parts) for _ in range(3)]
    parts = _trained(reader)
    for part, state in zip(parts, reader.load(io.BytesIO(content)), strict=True):
        part.load_state_dict(state)
    assert [step(reader, *parts) for _ in range(3)] == pytest.approx(going_on, rel=1e-5)


NUMPY = [
    np.arange(6.0).reshape(2, 3), np.float32(2.5), np.int64(3), np.bool_(True), np.dtype("f4"),
    np.zeros((0, 2), "i2"), np.array(["a", "bc"]), np.datetime64("2020-01-01"),
    np.arange(6).reshape(2, 3).T,
]  # fmt: skip


@pytest.mark.parametrize("value", NUMPY, ids=[str(type(x).__name__) for x in NUMPY])
@pytest.mark.parametrize("writer, reader", [(ng, torch), (torch, ng)])
def test_arrays_and_numbers_of_numpy(value, writer, reader):
    content = written(writer, [value])
    read = reader.load(io.BytesIO(content), weights_only=False)[0]
    assert type(read) is type(value) and np.array_equal(read, value)
    if reader is ng:  # which checks the arguments of NumPy's functions; torch refuses them
        again = ng.load(io.BytesIO(content))[0]
        assert type(again) is type(value) and np.array_equal(again, value)


LAYERS = {
    "linear": lambda nn: nn.Linear(2, 3),
    "nested": lambda nn: nn.Sequential(
        nn.Linear(2, 3), nn.ReLU(), nn.ModuleList([nn.Linear(1, 1)])
    ),
    "normalisation": lambda nn: nn.BatchNorm1d(4),
    "convolution": lambda nn: nn.Conv2d(1, 2, 3, padding=1),
    "recurrent": lambda nn: nn.LSTM(2, 3, num_layers=2),
    "embedding": lambda nn: nn.Embedding(4, 2),
}


@pytest.mark.parametrize("name", LAYERS)
def test_whole_modules_of_torch_are_read(name):
    net = LAYERS[name](torch.nn)
    read = ng.load(io.BytesIO(written(torch, net)), weights_only=False)
    assert type(read) is type(LAYERS[name](ng.nn)) and repr(read) == repr(net)
    assert described(read.state_dict()) == described(net.state_dict())
    again = ng.load(io.BytesIO(written(ng, read)), weights_only=False)
    assert described(again.state_dict()) == described(net.state_dict())


@pytest.mark.parametrize("name", LAYERS)
def test_names_of_modules_are_those_of_torch(name):
    net = LAYERS[name](ng.nn)
    unsafe = ng.serialization.get_unsafe_globals_in_checkpoint(io.BytesIO(written(ng, net)))
    theirs = torch.serialization.get_unsafe_globals_in_checkpoint(
        io.BytesIO(written(torch, LAYERS[name](torch.nn)))
    )
    assert set(unsafe) <= set(theirs) | {"builtins.set", "__builtin__.set"}
    assert any(each.startswith("torch.nn.modules.") for each in unsafe)


@pytest.mark.parametrize("module", [ng, torch])
def test_declared_classes_are_data(module):
    content = written(module, module.nn.Linear(2, 1))
    with pytest.raises(pickle.UnpicklingError, match="add_safe_globals"):
        module.load(io.BytesIO(content))
    with module.serialization.safe_globals([module.nn.Linear, set]):
        read = module.load(io.BytesIO(content))
        assert type(read) is module.nn.Linear
        assert module.nn.Linear in module.serialization.get_safe_globals()
    assert module.nn.Linear not in module.serialization.get_safe_globals()


@pytest.mark.parametrize("new_format", [True, False])
def test_what_is_cut_off_or_altered_raises_or_is_the_same(new_format):
    value = {"x": torch.arange(20.0), "n": 3}
    content = written(torch, value, _use_new_zipfile_serialization=new_format)
    expected = described(value)
    for position in range(0, len(content), 3):
        with pytest.raises((RuntimeError, pickle.UnpicklingError, EOFError)):
            ng.load(io.BytesIO(content[:position]))
        altered = bytearray(content)
        altered[position] ^= 1 << position % 8
        try:
            read = ng.load(io.BytesIO(altered))
        except (RuntimeError, pickle.UnpicklingError):
            continue
        # The older format has no checksum: numbers may be others, and nothing else.
        assert described(read) == expected or not new_format


def test_files_without_checksums_are_read():
    assert ng.load(io.BytesIO(without_checksums(torch.arange(5)))).tolist() == [0, 1, 2, 3, 4]


def test_objects_one_after_the_other():
    """Files of the older format may hold several."""
    file = io.BytesIO()
    for k in range(3):
        torch.save(torch.full((2,), float(k)), file, _use_new_zipfile_serialization=False)
    file.seek(0)
    assert [ng.load(file)[0].item() for _ in range(3)] == [0, 1, 2]


def elsewhere(value):
    """A file of torch's that says that its storages were on a device of another kind."""
    content = without_checksums(value)
    return content.replace(b"X\x03\0\0\0cpu", b"X\x03\0\0\0xpu")


def without_checksums(value):
    torch.serialization.set_crc32_options(False)
    try:
        return written(torch, value)
    finally:
        torch.serialization.set_crc32_options(True)


@pytest.mark.parametrize(
    "map_location",
    [
        "cpu", b"cpu", torch.device("cpu"), {"xpu": "cpu"}, lambda storage, location: storage,
        lambda storage, location: storage.cpu() if location == "xpu" else None,
    ],
)  # fmt: skip
def test_every_form_of_map_location(map_location):
    if isinstance(map_location, torch.device):
        map_location = ng.device("cpu")
    read = ng.load(io.BytesIO(elsewhere(torch.ones(2))), map_location=map_location)
    assert read.tolist() == [1, 1]


@pytest.mark.parametrize("map_location", ["cuda", "cuda:0", ng.device("cuda", 1), {"cpu": "cuda"}])
@pytest.mark.parametrize("new_format", [True, False])
def test_devices_that_are_not_there(map_location, new_format):
    content = written(torch, torch.ones(2), _use_new_zipfile_serialization=new_format)
    theirs = map_location
    if isinstance(map_location, ng.device):
        theirs = torch.device(str(map_location))
    for module, where in ((ng, map_location), (torch, theirs)):
        with pytest.raises(RuntimeError, match="Attempting to deserialize object on a CUDA"):
            module.load(io.BytesIO(content), map_location=where)


@pytest.mark.parametrize("where", ["mps", "hpu:0", "nosuch"])
def test_a_device_of_no_backend(where):
    content = written(torch, torch.ones(2))
    with pytest.raises(RuntimeError, match=f"tagged with {where}"):
        ng.load(io.BytesIO(content), map_location=where)


def test_a_position_that_nobody_knows():
    with pytest.raises(RuntimeError, match="tagged with xpu"):
        ng.load(io.BytesIO(elsewhere(torch.ones(2))))


def test_what_is_mapped_can_be_written_and_stays_out_of_the_file(tmp_path):
    ng.save(ng.arange(4.0), tmp_path / "x.pt")
    mapped = ng.load(tmp_path / "x.pt", mmap=True)
    mapped += 1
    assert mapped.tolist() == [1, 2, 3, 4]
    assert ng.load(tmp_path / "x.pt").tolist() == [0, 1, 2, 3]
    for module in (ng, torch):
        with pytest.raises(ValueError, match="f must be a"):
            module.load(io.BytesIO(written(torch, 1)), mmap=True)
        torch.save(1, tmp_path / "old.pt", _use_new_zipfile_serialization=False)
        with pytest.raises(RuntimeError, match="mmap can only be used"):
            module.load(tmp_path / "old.pt", mmap=True)


def test_entries_begin_where_torch_has_them():
    import zipfile

    ours, theirs = (zipfile.ZipFile(io.BytesIO(written(m, m.ones(9)))) for m in (ng, torch))
    names = [entry.filename for entry in theirs.infolist()]
    names.remove("archive/.data/serialization_id")
    assert [entry.filename for entry in ours.infolist()] == names
    assert ours.testzip() is None
    for name in names:
        assert name == "archive/data.pkl" or ours.read(name) == theirs.read(name)
    content = written(ng, ng.ones(9))
    assert content.index(ours.read("archive/data/0")) % 64 == 0


@pytest.mark.parametrize("persistent", [True, False])
def test_buffers_go_both_ways_with_weights_only(tmp_path, persistent):
    for library in (ng, torch):
        made = library.nn.Buffer(library.arange(3.0), persistent=persistent)
        library.save([made], tmp_path / library.__name__)
    for file in ("numbagrad", "torch"):
        for library in (ng, torch):
            (found,) = library.load(tmp_path / file)
            assert isinstance(found, library.nn.Buffer), (file, library.__name__)
            assert found.tolist() == [0, 1, 2] and found.persistent is persistent


@pytest.mark.parametrize("weights_only", [True, False])
@pytest.mark.parametrize("new_format", [True, False])
def test_places_beyond_a_sparse_tensor_raise(new_format, weights_only):
    places = torch.tensor([[0, 9], [2, 0]])
    made = torch.sparse_coo_tensor(places, torch.ones(2), (2, 4), check_invariants=False)
    content = written(torch, made, _use_new_zipfile_serialization=new_format)
    with pytest.raises(pickle.UnpicklingError, match="found index 9"):
        ng.load(io.BytesIO(content), weights_only=weights_only)
