"""Dtypes, promotion, limits, sizes and devices."""

import copy
import pickle
import threading

import numpy as np
import pytest

import numbagrad
from numbagrad.device import device, get_default_device, set_default_device
from numbagrad.dtype import (
    ALIASES,
    DTYPES,
    FROM_TYPE_NUM,
    bfloat16,
    bool_,
    can_cast,
    dtype,
    finfo,
    float16,
    float32,
    float64,
    from_numpy,
    from_type_string,
    get_default_dtype,
    iinfo,
    int8,
    int16,
    int32,
    int64,
    promote_types,
    result_type_of,
    scalar_dtype,
    set_default_dtype,
    type_string,
    uint8,
)
from numbagrad.size import Size


@pytest.fixture(autouse=True)
def _default_settings():
    yield
    set_default_dtype(float32)
    set_default_device(None)


class TestDtype:
    @pytest.mark.parametrize("each", DTYPES, ids=repr)
    def test_agrees_with_numpy(self, each):
        assert repr(each) == f"torch.{each.name}"
        assert each.itemsize == each.numpy.itemsize
        floating = np.issubdtype(each.numpy, np.floating) or each is bfloat16  # which it has not
        assert each.is_floating_point == floating
        assert each.is_signed == (each not in (uint8, bool_))
        assert each.is_complex == np.issubdtype(each.numpy, np.complexfloating)
        assert from_numpy(each.numpy) is each
        assert FROM_TYPE_NUM[each.type_num] is each

    @pytest.mark.parametrize("each", DTYPES, ids=repr)
    def test_copies_are_the_same_object(self, each):
        assert copy.copy(each) is each
        assert copy.deepcopy(each) is each
        assert all(pickle.loads(pickle.dumps(each, version)) is each for version in range(6))

    def test_equal_widths_of_c_are_one_dtype(self):
        for code in "lq":
            expected = {4: int32, 8: int64}[np.dtype(code).itemsize]
            assert from_numpy(np.dtype(code)) is FROM_TYPE_NUM[np.dtype(code).num] is expected

    def test_short_names(self):
        assert ALIASES["float"] is float32
        assert ALIASES["long"] is int64
        assert ALIASES["half"] is float16

    def test_cannot_be_made_or_changed(self):
        with pytest.raises(TypeError, match="cannot create 'torch.dtype' instances"):
            dtype("float32")
        with pytest.raises(AttributeError):
            float32.name = "float"

    @pytest.mark.parametrize("name", ["uint16", "clongdouble", "U3", "datetime64[s]", "O"])
    def test_unsupported_numpy_type(self, name):
        array_type = np.dtype(name)
        with pytest.raises(TypeError) as caught:
            from_numpy(array_type)
        assert str(caught.value) == (
            f"can't convert np.ndarray of type numpy.{array_type.type.__name__}. The only "
            "supported types are: float64, float32, float16, complex64, complex128, int64, "
            "int32, int16, int8, uint8, and bool."
        )

    def test_foreign_byte_order(self):
        with pytest.raises(ValueError, match="byte order"):
            from_numpy(np.dtype(np.float32).newbyteorder())

    @pytest.mark.parametrize("each", DTYPES, ids=repr)
    @pytest.mark.parametrize("device_type", ["cpu", "cuda"])
    def test_type_strings_lead_back(self, each, device_type):
        assert from_type_string(type_string(each, device_type)) == (each, device_type)

    def test_type_strings(self):
        assert type_string(float32) == "torch.FloatTensor"
        assert type_string(uint8, "cuda") == "torch.cuda.ByteTensor"
        assert from_type_string("torch.Tensor") == (float32, "cpu")
        with pytest.raises(ValueError, match="invalid type: 'FloatTensor'"):
            from_type_string("FloatTensor")


class TestPromotion:
    @pytest.mark.parametrize(
        "first, second, expected",
        [
            (bool_, uint8, uint8),
            (uint8, int8, int16),
            (uint8, int16, int16),
            (int32, int64, int64),
            (int64, float16, float16),
            (float16, float32, float32),
            (float32, float64, float64),
            (bool_, bool_, bool_),
        ],
    )
    def test_promote_types(self, first, second, expected):
        assert promote_types(first, second) is expected
        assert promote_types(second, first) is expected

    @pytest.mark.parametrize(
        "categories, expected",
        [
            ((float32, float64, None), float32),
            ((int32, int64, None), int32),
            ((int32, float16, None), float16),
            ((bool_, int8, None), int8),
            ((float16, None, float32), float16),
            ((uint8, None, int64), uint8),
            ((uint8, None, float32), float32),
            ((None, int32, int64), int32),
            ((None, int32, float32), float32),
            ((bool_, uint8, float32), float32),
            ((None, None, bool_), bool_),
        ],
    )
    def test_categories(self, categories, expected):
        assert result_type_of(*categories) is expected

    def test_no_operand(self):
        with pytest.raises(ValueError, match="at least one operand"):
            result_type_of()

    def test_python_numbers(self):
        assert [scalar_dtype(value) for value in (True, 1, 1.0)] == [bool_, int64, float32]
        set_default_dtype(float64)
        assert scalar_dtype(1.0) is float64
        with pytest.raises(TypeError, match="str"):
            scalar_dtype("1")

    def test_can_cast(self):
        assert can_cast(int64, int8)
        assert can_cast(bool_, float16)
        assert not can_cast(float32, int64)
        assert not can_cast(int8, bool_)

    def test_arguments_must_be_dtypes(self):
        with pytest.raises(TypeError, match=r"'type2' \(position 2\) must be torch.dtype, not str"):
            promote_types(float32, "float64")
        with pytest.raises(TypeError, match="'from_'"):
            can_cast(np.float32, float32)

    def test_default_dtype(self):
        assert get_default_dtype() is float32
        set_default_dtype(float16)
        assert get_default_dtype() is float16
        for wrong in (int32, "float32"):
            with pytest.raises(TypeError, match="only floating-point types"):
                set_default_dtype(wrong)
        assert get_default_dtype() is float16


class TestLimits:
    def test_finfo(self):
        limits = finfo(float32)
        assert (limits.bits, limits.dtype, limits.resolution) == (32, "float32", 1e-6)
        assert limits.eps == 2.0**-23
        assert limits.tiny == limits.smallest_normal == 2.0**-126
        assert limits.max == -limits.min == (2 - 2.0**-23) * 2.0**127
        assert limits == finfo() != finfo(float64)
        assert repr(finfo(float16)) == (
            "finfo(resolution=0.001, min=-65504, max=65504, eps=0.000976562, "
            "smallest_normal=6.10352e-05, tiny=6.10352e-05, dtype=float16)"
        )

    def test_iinfo(self):
        limits = iinfo(int16)
        assert (limits.bits, limits.min, limits.max) == (16, -32768, 32767)
        assert limits == iinfo(int16) != iinfo(uint8)
        assert repr(iinfo(int64)) == "iinfo(min=-9.22337e+18, max=9.22337e+18, dtype=int64)"

    def test_wrong_kind(self):
        with pytest.raises(TypeError, match="Use torch.iinfo"):
            finfo(int32)
        with pytest.raises(TypeError, match="Use torch.finfo"):
            iinfo(float32)
        with pytest.raises(TypeError, match="bool is not supported"):
            iinfo(bool_)


class TestSize:
    def test_text(self):
        assert repr(Size([2, 3])) == str(Size((2, 3))) == "torch.Size([2, 3])"
        assert repr(Size()) == "torch.Size([])"

    def test_is_a_tuple(self):
        size = Size([2, 3])
        assert size == (2, 3)
        assert hash(size) == hash((2, 3))
        assert size[1] == 3
        assert {size: 1}[(2, 3)] == 1

    @pytest.mark.parametrize(
        "made, expected",
        [
            (Size([2, 3, 4])[1:], (3, 4)),
            (Size([2, 3]) + (4,), (2, 3, 4)),
            ((4,) + Size([2, 3]), (4, 2, 3)),
            (Size([2]) * 3, (2, 2, 2)),
            (2 * Size([2, 3]), (2, 3, 2, 3)),
            (pickle.loads(pickle.dumps(Size([2, 3]))), (2, 3)),
            (copy.deepcopy(Size([2, 3])), (2, 3)),
        ],
    )
    def test_stays_a_size(self, made, expected):
        assert type(made) is Size
        assert made == expected

    def test_numel(self):
        assert Size([2, 3, 4]).numel() == 24
        assert Size([2, 0]).numel() == 0
        assert Size().numel() == 1

    def test_takes_integers_only(self):
        assert Size([np.int64(3), True]) == (3, 1)
        assert all(type(length) is int for length in Size([np.int64(3), True]))
        with pytest.raises(TypeError, match=r"takes an iterable of 'int' \(item 1 is 'float'\)"):
            Size([1, 2.5])
        with pytest.raises(TypeError, match=r"concatenate tuple \(not list\) to torch.Size"):
            Size([1]) + [2]


class TestDevice:
    @pytest.mark.parametrize(
        "made, kind, index, text",
        [
            (device("cpu"), "cpu", None, "device(type='cpu')"),
            (device("cuda:0"), "cuda", 0, "device(type='cuda', index=0)"),
            (device("cuda", 1), "cuda", 1, "device(type='cuda', index=1)"),
            (device(type="cuda", index=2), "cuda", 2, "device(type='cuda', index=2)"),
            (device(1), "cuda", 1, "device(type='cuda', index=1)"),
            (device(device("cuda")), "cuda", None, "device(type='cuda')"),
        ],
    )
    def test_fields_and_text(self, made, kind, index, text):
        assert (made.type, made.index, repr(made)) == (kind, index, text)
        assert device(str(made)) == made
        assert pickle.loads(pickle.dumps(made)) == made

    def test_equality(self):
        assert device("cuda:1") == device("cuda", 1)
        assert hash(device("cuda:1")) == hash(device("cuda", 1))
        assert device("cpu") != device("cpu:0")
        assert device("cpu") != "cpu"

    @pytest.mark.parametrize(
        "arguments, error, message",
        [
            (("",), RuntimeError, "must not be empty"),
            (("tpu",), RuntimeError, "Expected one of cpu, cuda device type"),
            (("CPU",), RuntimeError, "Expected one of"),
            (("cuda:x",), RuntimeError, "Invalid device string: 'cuda:x'"),
            (("cuda:01",), RuntimeError, "Invalid device string"),
            (("cuda:-1",), RuntimeError, "Invalid device string"),
            (("cuda:0", 1), RuntimeError, "must not include an index"),
            (("cuda", -1), RuntimeError, "must not be negative"),
            (("cuda", "x"), TypeError, r"'index' \(position 2\) must be int, not str"),
            ((1.5,), TypeError, "must be str, not float"),
            ((True,), TypeError, "must be str, not bool"),
        ],
    )
    def test_errors(self, arguments, error, message):
        with pytest.raises(error, match=message):
            device(*arguments)

    def test_cannot_be_changed(self):
        with pytest.raises(AttributeError, match="not writable"):
            device("cpu").type = "cuda"

    def test_default_device(self):
        assert get_default_device() == device("cpu")
        set_default_device("cuda:1")
        assert get_default_device() == device("cuda:1")
        with device("cuda:2") as outer:
            assert get_default_device() is outer
            with device("cpu"):
                assert get_default_device() == device("cpu")
            assert get_default_device() is outer
        assert get_default_device() == device("cuda:1")

    def test_block_ends_with_an_error(self):
        with pytest.raises(KeyError), device("cuda"):
            raise KeyError
        assert get_default_device() == device("cpu")

    def test_threads_have_defaults_of_their_own(self):
        seen = []
        with device("cuda"):
            other = threading.Thread(target=lambda: seen.append(get_default_device()))
            other.start()
            other.join()
        assert seen == [device("cpu")]


@pytest.mark.parametrize("name", ["mps", "xpu", "hpu", "mtia", "xla"])
def test_other_devices_of_torch_have_names_and_no_tensors(name):
    where = device(name)
    assert str(where) == name and where != device("cpu") and device(f"{name}:1").index == 1
    with pytest.raises(NotImplementedError, match=f"no device '{name}'"):
        numbagrad.ones(1, device=where)
