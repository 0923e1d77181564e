"""Settings of ``load`` for a whole program, and the lists of functions of ``torch.overrides``."""

import io
import mmap

import pytest

import numbagrad as ng

torch = pytest.importorskip("torch")
BOTH = [ng, torch]


@pytest.mark.parametrize("T", BOTH)
def test_the_order_of_bytes_of_files_that_do_not_say_it(T):
    options = T.serialization
    assert options.get_default_load_endianness() is None
    order = options.LoadEndianness
    file = io.BytesIO()
    ng.save(ng.tensor([1, 256], dtype=ng.int16), file, _disable_byteorder_record=True)
    found = []
    try:
        for each in (None, order.LITTLE, order.NATIVE, order.BIG):
            options.set_default_load_endianness(each)
            assert options.get_default_load_endianness() is each
            file.seek(0)
            found.append(T.load(file).tolist())
    finally:
        options.set_default_load_endianness(None)
    assert found == [[1, 256]] * 3 + [[256, 1]]
    with pytest.raises(TypeError, match="Invalid argument type"):
        options.set_default_load_endianness("big")


@pytest.mark.parametrize("T", BOTH)
def test_files_are_mapped_so_that_writes_stay_in_memory(T, tmp_path):
    options, path = T.serialization, tmp_path / "file.pt"
    T.save(T.zeros(3), path)
    with options.set_default_mmap_options(mmap.MAP_PRIVATE):
        assert options.get_default_mmap_options() == mmap.MAP_PRIVATE
        T.load(path, mmap=True).fill_(1)
    assert T.load(path).tolist() == [0, 0, 0]
    with pytest.raises(ValueError, match="set_default_mmap_options"):
        options.set_default_mmap_options(77)


def test_writes_to_the_file_are_refused():
    with pytest.raises(NotImplementedError, match="checksums"):
        ng.serialization.set_default_mmap_options(mmap.MAP_SHARED)


@pytest.mark.parametrize("T", BOTH)
def test_functions_that_classes_are_asked_about(T):
    listed = T.overrides.get_overridable_functions()
    assert T.add in listed[T] and T.Tensor.add in listed[T.Tensor]
    assert T.nn.functional.relu in listed[T.nn.functional]
    ignored = T.overrides.get_ignored_functions()
    assert T.is_tensor in ignored and T.add not in ignored
    testing = T.overrides.get_testing_overrides()
    assert testing[T.add](T.ones(2), 1) == -1
    with pytest.raises(TypeError):
        testing[T.mm]()


@pytest.mark.parametrize("T", BOTH)
def test_tensor_split_has_two_more_names(T):
    x = T.arange(7)
    assert [len(part) for part in T.tensor_split(x, sections=3)] == [3, 2, 2]
    assert [len(part) for part in x.tensor_split(indices=(1, 5), dim=0)] == [1, 4, 2]
    with pytest.raises(TypeError, match="tensor_split"):
        T.tensor_split(x)


def test_dirichlet_samples_are_those_of_torch():
    samples = []
    for T in BOTH:
        T.manual_seed(0)
        samples.append(T._sample_dirichlet(T.tensor([1.0, 2.0, 3.0])).tolist())
    assert samples[0] == pytest.approx(samples[1], rel=1e-5)
