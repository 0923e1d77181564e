"""``torch.ops.aten`` has the operators and overloads that torch's has."""

import importlib.util
import pathlib

import numbagrad as ng

PATH = pathlib.Path(__file__).parents[2] / "tools" / "write_aten_names.py"
spec = importlib.util.spec_from_file_location("write_aten_names", PATH)
writer = importlib.util.module_from_spec(spec)
spec.loader.exec_module(writer)


def test_the_table_is_torchs():
    assert writer.TARGET.read_text() == writer.text()


def test_overloads_can_be_named_and_most_called():
    aten = ng.ops.aten
    assert aten.add_.Tensor.name() == "aten::add_.Tensor"
    assert aten.convolution_backward.overloads() == ["default"]
    x = ng.ones(2)
    assert aten.mul.Scalar(x, 3).tolist() == [3.0, 3.0]
    aten.add_.Tensor(x, x)
    assert x.tolist() == [2.0, 2.0]
    assert not hasattr(aten, "nosuch") and not hasattr(aten.mm, "nosuch")
