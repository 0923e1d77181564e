"""Modules and layers: what registration, walks, state, hooks and text do, without torch.

Values written as literals were printed by torch 2.13 from the same seed.
"""

import copy
import inspect
import pickle
import warnings
import weakref

import numpy as np
import pytest

import numbagrad as ng
from numbagrad import nn
from numbagrad.nn import functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(3, 4)
        self.second = nn.Linear(4, 2, bias=False)
        self.register_buffer("scale", ng.ones(1))
        self.register_parameter("bias", None)

    def forward(self, x):
        return self.second(self.first(x).relu()) * self.scale


# --- parameters -----------------------------------------------------------------------------------


def test_a_parameter_is_a_leaf_tensor_that_shares_memory():
    data = ng.zeros(2)
    parameter = nn.Parameter(data)
    data[0] = 5
    assert parameter.tolist() == [5, 0]
    assert parameter.requires_grad and parameter.is_leaf
    assert isinstance(parameter, ng.Tensor)
    assert type(parameter * 2) is ng.Tensor
    with ng.no_grad():
        assert nn.Parameter(data).requires_grad


def test_copies_of_parameters_leave_gradients_behind():
    parameter = nn.Parameter(ng.ones(2))
    parameter.grad = ng.ones(2)
    for made in (copy.deepcopy(parameter), pickle.loads(pickle.dumps(parameter))):
        assert type(made) is nn.Parameter
        assert made.requires_grad and made.grad is None
        assert made.data_ptr() != parameter.data_ptr()


def test_a_copied_module_keeps_tied_parameters_tied():
    net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    net[1].weight = net[0].weight
    twin = copy.deepcopy(net)
    assert twin[0].weight is twin[1].weight
    assert twin[0].weight is not net[0].weight
    assert len(list(twin.parameters())) == 3


# --- registration ---------------------------------------------------------------------------------


def test_attributes_are_registered_by_what_they_are():
    net = Net()
    assert [name for name, _ in net.named_parameters()] == [
        "first.weight", "first.bias", "second.weight",
    ]  # fmt: skip
    assert [name for name, _ in net.named_buffers()] == ["scale"]
    assert [name for name, _ in net.named_modules()] == ["", "first", "second"]
    assert net.bias is None and net.second.bias is None
    net.scale = ng.zeros(1)
    assert list(net.state_dict()) == ["scale", "first.weight", "first.bias", "second.weight"]


def test_an_attribute_moves_between_the_tables():
    module = nn.Module()
    module.x = nn.Linear(1, 1)
    module.x = nn.Parameter(ng.ones(1))
    assert list(module._modules) == [] and list(module._parameters) == ["x"]
    with pytest.raises(TypeError, match="as parameter 'x'"):
        module.x = nn.ReLU()
    del module.x
    module.x = nn.ReLU()
    assert list(module._parameters) == [] and list(module._modules) == ["x"]
    del module.x
    assert not hasattr(module, "x")
    module.x = 3
    module.y = nn.Buffer(ng.ones(1), persistent=False)
    assert module.x == 3 and list(module.state_dict()) == []
    assert [name for name, _ in module.named_buffers()] == ["y"]


@pytest.mark.parametrize("value", [nn.Parameter(ng.ones(1)), nn.ReLU()])
def test_assigning_before_init_raises(value):
    class Early(nn.Module):
        def __init__(self):
            self.x = value

    with pytest.raises(AttributeError, match=r"before Module.__init__\(\) call"):
        Early()


def test_submodules_by_path():
    net = nn.Sequential(nn.Sequential(nn.Linear(1, 1)))
    assert net.get_submodule("0.0") is net[0][0]
    assert net.get_parameter("0.0.weight") is net[0][0].weight
    net.set_submodule("0.0", nn.Tanh())
    assert isinstance(net[0][0], nn.Tanh)


# --- modes and conversion -------------------------------------------------------------------------


def test_modes_reach_all_modules():
    net = Net()
    assert not net.eval().first.training
    assert net.train().second.training
    net.requires_grad_(False)
    assert not any(p.requires_grad for p in net.parameters())
    seen = []
    net.apply(lambda module: seen.append(type(module).__name__))
    assert seen == ["Linear", "Linear", "Net"]


def test_conversion_keeps_the_parameters_and_converts_gradients():
    net = Net()
    net(ng.ones(2, 3)).sum().backward()
    before = list(net.parameters())
    net.register_buffer("count", ng.tensor(3))
    net.double()
    assert all(a is b for a, b in zip(before, net.parameters(), strict=True))
    assert before[0].dtype is ng.float64 and before[0].grad.dtype is ng.float64
    assert net.scale.dtype is ng.float64 and net.count.dtype is ng.int64
    assert net(ng.ones(2, 3).double()).dtype is ng.float64
    assert net.to(ng.float32).first.weight.dtype is ng.float32
    assert net.to("cpu").half().first.weight.dtype is ng.float16


def test_zero_grad():
    net = Net()
    net(ng.ones(2, 3)).sum().backward()
    net.zero_grad(set_to_none=False)
    assert net.first.weight.grad.abs().sum() == 0
    net.zero_grad()
    assert net.first.weight.grad is None


# --- state ----------------------------------------------------------------------------------------


def test_state_goes_from_one_module_to_another():
    a, b = Net(), Net()
    x = ng.randn(5, 3)
    assert repr(b.load_state_dict(a.state_dict())) == "<All keys matched successfully>"
    assert ng.equal(a(x), b(x))
    assert a.state_dict()["first.weight"].data_ptr() == a.first.weight.data_ptr()


def test_a_state_that_does_not_fit_names_everything_wrong():
    state = Net().state_dict()
    state["extra"] = state.pop("first.bias")
    state["second.weight"] = ng.ones(2, 5)
    with pytest.raises(RuntimeError) as caught:
        Net().load_state_dict(state)
    assert str(caught.value) == (
        "Error(s) in loading state_dict for Net:\n"
        '\tMissing key(s) in state_dict: "first.bias". \n'
        '\tUnexpected key(s) in state_dict: "extra". \n'
        "\tsize mismatch for second.weight: copying a param with shape torch.Size([2, 5]) from "
        "checkpoint, the shape in current model is torch.Size([2, 4])."
    )
    del state["second.weight"]
    keys = Net().load_state_dict(state, strict=False)
    assert keys.missing_keys == ["first.bias", "second.weight"]
    assert keys.unexpected_keys == ["extra"]


def test_assigned_state_is_the_given_tensors():
    net = Net()
    state = {name: value.clone() for name, value in net.state_dict().items()}
    net.load_state_dict(state, assign=True)
    assert net.first.weight.data_ptr() == state["first.weight"].data_ptr()
    assert isinstance(net.first.weight, nn.Parameter)


def test_extra_state_and_hooks_of_state():
    class Counter(nn.Linear):
        count = 0

        def get_extra_state(self):
            return {"count": self.count}

        def set_extra_state(self, state):
            self.count = state["count"]

    a, b = Counter(1, 1), Counter(1, 1)
    a.count = 7
    seen = []
    a.register_state_dict_pre_hook(lambda module, prefix, keep: seen.append(prefix))
    a.register_state_dict_post_hook(lambda module, state, prefix, meta: seen.append(list(state)))
    b.register_load_state_dict_pre_hook(lambda module, *rest: seen.append(module is b))
    b.register_load_state_dict_post_hook(lambda module, keys: seen.append(keys.missing_keys))
    b.load_state_dict(a.state_dict())
    assert b.count == 7
    assert seen == ["", ["weight", "bias", "_extra_state"], True, []]


# --- hooks ----------------------------------------------------------------------------------------


def test_forward_hooks_replace_and_are_removed():
    layer = nn.Linear(2, 2)
    x = ng.randn(3, 2)
    plain = layer(x)
    with layer.register_forward_pre_hook(lambda module, args: args[0] * 0):
        assert ng.equal(layer(x), layer.bias.expand(3, 2))
    handle = layer.register_forward_hook(lambda module, args, output: output * 2)
    assert ng.equal(layer(x), plain * 2)
    handle.remove()
    assert ng.equal(layer(x), plain)
    layer.register_forward_hook(
        lambda module, args, kwargs, output: output + kwargs["input"].sum(), with_kwargs=True
    )
    assert ng.allclose(layer(input=x), plain + x.sum())


def test_hooks_of_every_module():
    seen = []
    handle = nn.module_hooks.register_module_forward_hook(
        lambda module, args, output: seen.append(type(module).__name__)
    )
    Net()(ng.ones(1, 3))
    handle.remove()
    Net()(ng.ones(1, 3))
    assert seen == ["Linear", "Linear", "Net"]


def test_an_always_called_hook_runs_when_forward_raises():
    seen = []
    layer = nn.Linear(2, 2)
    layer.register_forward_hook(lambda *values: seen.append(values[-1]), always_call=True)
    with pytest.raises(RuntimeError, match="cannot be multiplied"):
        layer(ng.ones(1, 5))
    assert seen == [None]


def test_backward_hooks_see_both_ends():
    seen = []
    layer = nn.Linear(2, 2, bias=False)
    layer.register_full_backward_hook(lambda module, into, out: seen.append((into, out)))
    x = ng.ones(1, 2, requires_grad=True)
    layer(x).sum().backward()
    ((into,), (out,)) = seen[0]
    assert out.tolist() == [[1, 1]]
    assert ng.equal(into, x.grad)


def test_a_full_backward_hook_excludes_an_old_one():
    layer = nn.Linear(2, 2)
    layer.register_backward_hook(lambda *values: None)
    with pytest.raises(RuntimeError, match="Cannot use both regular backward hooks and full"):
        layer.register_full_backward_hook(lambda *values: None)


# --- containers -----------------------------------------------------------------------------------


def test_sequences_are_edited_like_lists():
    a, b, c = nn.ReLU(), nn.Tanh(), nn.Sigmoid()
    net = nn.Sequential(a, b)
    net.append(c).insert(1, nn.Dropout())
    assert [type(m).__name__ for m in net] == ["ReLU", "Dropout", "Tanh", "Sigmoid"]
    assert net.pop(1).p == 0.5
    assert net[-1] is c and list(net[1:]) == [b, c]
    del net[0]
    assert list(net._modules) == ["0", "1"]
    assert len(net * 2 + nn.Sequential(a)) == 5
    rows = nn.ModuleList([a])
    rows += [b]
    rows.insert(0, c)
    rows[1] = nn.Identity()
    assert [type(m).__name__ for m in rows] == ["Sigmoid", "Identity", "Tanh"]


def test_data_parallel_is_the_module_where_there_are_no_devices():
    module = nn.Linear(2, 3)
    net = nn.DataParallel(module)
    x = ng.ones(4, 2)
    assert ng.equal(net(x), module(x))
    assert net.device_ids == [] and list(net.state_dict()) == ["module.weight", "module.bias"]


def test_dictionaries_of_modules_and_parameters():
    modules = nn.ModuleDict({"a": nn.ReLU()})
    modules["b"] = nn.Tanh()
    assert list(modules) == ["a", "b"] and "a" in modules and len(modules) == 2
    assert isinstance(modules.pop("a"), nn.ReLU)
    parameters = nn.ParameterDict({"x": ng.ones(2)})
    parameters["y"] = "text"
    assert isinstance(parameters["x"], nn.Parameter)
    assert parameters.get("z", 3) == 3 and parameters.popitem() == ("y", "text")
    assert len(list(parameters.parameters())) == 1
    rows = nn.ParameterList([ng.ones(2)])
    rows.append(ng.zeros(3))
    assert [p.numel() for p in rows] == [2, 3] and len(rows[1:]) == 1


# --- layers and losses ----------------------------------------------------------------------------


def test_linear_starts_with_the_numbers_of_torch():
    ng.manual_seed(0)
    weight = nn.Linear(3, 4).weight
    np.testing.assert_allclose(
        weight.detach().numpy(),
        [[-0.004323, 0.309716, -0.475185], [-0.424895, -0.222369, 0.154821],
         [-0.011439, 0.457775, -0.051236], [0.152774, -0.174483, -0.113487]],
        atol=1e-6,
    )  # fmt: skip


def test_dropout_draws_as_torch_and_rests_in_eval():
    ng.manual_seed(1)
    assert F.dropout(ng.ones(8), 0.5).tolist() == [2, 2, 2, 2, 0, 2, 2, 0]
    x = ng.randn(4)
    assert nn.Dropout().eval()(x) is x


def test_linear_of_all_shapes_is_the_product_and_its_gradients_are_right():
    for shape in ((3,), (5, 3), (2, 5, 3)):
        x = ng.randn(*shape, dtype=ng.float64, requires_grad=True)
        weight = ng.randn(4, 3, dtype=ng.float64, requires_grad=True)
        bias = ng.randn(4, dtype=ng.float64, requires_grad=True)
        made = F.linear(x, weight, bias).detach().numpy()
        expected = x.detach().numpy() @ weight.detach().numpy().T + bias.detach().numpy()
        np.testing.assert_allclose(made, expected)
        assert ng.autograd.gradcheck(F.linear, (x, weight, bias))
        assert ng.autograd.gradgradcheck(F.linear, (x, weight, bias))


TARGET = ng.linspace(0, 1, 9, dtype=ng.float64).reshape(3, 3)


@pytest.mark.parametrize("loss", [
    lambda x: F.mse_loss(x, TARGET),
    lambda x: F.huber_loss(TARGET, x, reduction="sum"),
    lambda x: F.binary_cross_entropy_with_logits(x, TARGET),
    lambda x: F.cross_entropy(x, ng.tensor([0, 2, 1]), label_smoothing=0.1),
    lambda x: F.cross_entropy(x, ng.tensor([0, 2, 1]), ng.tensor([1.0, 2.0, 3.0]).double()),
    lambda x: F.nll_loss(x, ng.tensor([0, 2, 1]), reduction="none"),
    lambda x: F.layer_norm(x, (3,)), lambda x: F.rms_norm(x, (3,)),
    lambda x: F.pad(x, (1, 2, 0, 1), value=2.0), lambda x: F.normalize(x),
])  # fmt: skip
def test_gradients_of_functions_are_right(loss):
    x = ng.randn(3, 3, dtype=ng.float64, requires_grad=True)
    assert ng.autograd.gradcheck(loss, (x,))
    assert ng.autograd.gradgradcheck(loss, (x,))


def test_cross_entropy_is_minus_the_logarithm_of_the_softmax():
    x, target = ng.randn(4, 3), ng.tensor([2, 0, 1, 1])
    p = np.exp(x.numpy()) / np.exp(x.numpy()).sum(1, keepdims=True)
    expected = -np.log(p[np.arange(4), target.numpy()])
    np.testing.assert_allclose(F.cross_entropy(x, target).item(), expected.mean(), rtol=1e-5)
    made = nn.CrossEntropyLoss(reduction="none", ignore_index=1)(x, target).numpy()
    np.testing.assert_allclose(made, [expected[0], expected[1], 0, 0], rtol=1e-5)


def test_reductions_may_be_named_as_before_torch_0_4_1():
    a, b = ng.zeros(2, 2), ng.ones(2, 2)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert nn.MSELoss(size_average=False)(a, b) == 4
        assert F.mse_loss(a, b, False) == 4
        assert F.mse_loss(a, b, reduce=False).shape == (2, 2)
    assert "please use reduction='sum' instead" in str(caught[0].message)


def test_batch_norm_counts_running_averages():
    layer = nn.BatchNorm1d(2, momentum=0.5)
    x = ng.tensor([[1.0, 2.0], [3.0, 6.0]])
    np.testing.assert_allclose(layer(x).detach().numpy(), [[-1, -1], [1, 1]], atol=1e-4)
    assert layer.running_mean.tolist() == [1.0, 2.0]
    assert layer.running_var.tolist() == [1.5, 4.5]
    assert layer.num_batches_tracked == 1
    np.testing.assert_allclose(
        layer.eval()(x).detach().numpy(), (x.numpy() - [1, 2]) / np.sqrt([1.5, 4.5]), rtol=1e-4
    )


def test_orthogonal_matrices_are_orthogonal():
    made = nn.init.orthogonal_(ng.empty(4, 7))
    np.testing.assert_allclose((made @ made.t()).numpy(), np.eye(4), atol=1e-6)


def test_a_module_is_freed_with_its_last_reference():
    net = Net()
    net.register_load_state_dict_pre_hook(lambda *values: None)
    net(ng.ones(1, 3)).sum().backward()
    seen = weakref.ref(net.first.weight)
    del net
    assert seen() is None


class TestWhatLossesOfClassesSave:
    """A node of nll_loss has what was given, and notices if that was written."""

    def test_it_is_shown(self):
        scores = ng.zeros(3, 4, requires_grad=True)
        target, weight = ng.tensor([1, 0, 3]), ng.ones(4)
        node = F.nll_loss(scores, target, weight, reduction="sum").grad_fn
        assert node._saved_target is target and node._saved_weight is weight
        assert (node._saved_reduction, node._saved_ignore_index) == (2, -100)
        assert F.nll_loss(scores, target).grad_fn._saved_weight is None

    @pytest.mark.parametrize("which", ["target", "weight"])
    @pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
    def test_writes_are_noticed(self, which, reduction):
        scores = ng.zeros(3, 4, requires_grad=True)
        given = {"target": ng.tensor([1, 0, 3]), "weight": ng.ones(4)}
        loss = F.nll_loss(scores, **given, reduction=reduction)
        given[which].zero_()
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            loss.sum().backward()

    def test_the_weight_has_no_gradient(self):
        scores, target = ng.zeros(3, 4, requires_grad=True), ng.tensor([1, 0, 3])
        weight = ng.ones(4, requires_grad=True)
        for loss in (F.nll_loss, F.cross_entropy):
            with pytest.raises(RuntimeError, match="not differentiable with respect to argument"):
                loss(scores, target, weight)
            with ng.no_grad():
                assert not loss(scores, target, weight).requires_grad


class TestFunctionLayers:
    """Classes under ``@layer`` take their fields and call their function."""

    def test_fields_of_the_base_are_passed_on_and_the_others_kept(self):
        loss = nn.CrossEntropyLoss(ng.ones(3), None, 2, reduction="sum", label_smoothing=0.1)
        assert list(dict(loss.named_buffers())) == ["weight"]
        assert (loss.ignore_index, loss.reduction, loss.label_smoothing) == (2, "sum", 0.1)
        assert not hasattr(loss, "size_average") and not hasattr(nn.ELU, "alpha")
        assert inspect.signature(nn.Threshold).parameters["threshold"].default is inspect._empty
        shown = str(inspect.signature(nn.ELU.__init__))
        assert shown == "(self, alpha: 'float' = 1.0, inplace: 'bool' = False) -> 'None'"

    def test_forward_has_the_inputs_of_the_function(self):
        shown = str(inspect.signature(nn.HuberLoss(delta=2.0).forward))
        assert shown == "(input: 'Tensor', target: 'Tensor') -> 'Tensor'"
        x = ng.tensor([3.0])
        assert nn.HuberLoss(delta=2.0)(x, ng.zeros(1)).item() == 4.0
        assert nn.Dropout(1.0).eval()(x).item() == 3.0 and nn.Dropout(1.0)(x).item() == 0.0

    def test_subclasses_and_copies_are_as_of_classes_written_by_hand(self):
        class Halved(nn.AvgPool2d):
            def __init__(self):
                super().__init__(2)

            def forward(self, input):
                return super().forward(input) / 2

        pool = copy.deepcopy(Halved())
        assert pool.stride == 2 and pool(ng.ones(1, 2, 2)).item() == 0.5
        assert repr(pickle.loads(pickle.dumps(nn.ELU(0.5, True)))) == "ELU(alpha=0.5, inplace=True)"

    def test_arguments_of_other_kinds_are_refused_by_name(self):
        with pytest.raises(TypeError, match="ELU"):
            nn.ELU(0.5, False, 3)
        with pytest.raises(ValueError, match="dropout probability"):
            nn.Dropout2d(2.0)
