"""Layers and losses of the top namespace, and torch's switches: arguments that stand as in C++.

What they compute is what the function of ``nn.functional`` does, which has tests of its own; the
parity test runs the same calls with torch.
"""

import numpy as np
import pytest

import numbagrad as torch

GENERATOR = np.random.default_rng(0)
X = GENERATOR.normal(size=(2, 4, 6))
POSITIVE = GENERATOR.uniform(0.1, 0.9, (2, 4, 6))
SIGNS = np.where(GENERATOR.random((2, 4, 6)) < 0.5, 1.0, -1.0)
OTHER = GENERATOR.normal(size=(2, 4, 6))
ROWS = GENERATOR.normal(size=(5, 4))
CHANNELS = GENERATOR.normal(size=4)
GATES = {k: GENERATOR.normal(size=(4 * k, 4)) for k in (1, 3, 4)}
BIAS = {k: GENERATOR.normal(size=4 * k) for k in (1, 3, 4)}


def cell(name, gates):
    """A call of a recurrent cell, and the layer that has it."""
    arrays = (ROWS, OTHER[0, :, :4][[0, 1, 2, 3, 0]], GATES[gates], GATES[gates][::-1].copy(),
              BIAS[gates], BIAS[gates][::-1].copy())  # fmt: skip

    def call(t, x, h, w_ih, w_hh, b_ih, b_hh):
        state = (h, 2 * h) if name == "lstm_cell" else h
        return getattr(t, name)(x, state, w_ih, w_hh, b_ih, b_hh)

    def layer(t, x, h, w_ih, w_hh, b_ih, b_hh):
        kinds = {"lstm_cell": t.nn.LSTMCell, "gru_cell": t.nn.GRUCell}
        if name in kinds:
            made = kinds[name](4, 4, dtype=x.dtype)
        else:
            made = t.nn.RNNCell(4, 4, nonlinearity=name.split("_")[1], dtype=x.dtype)
        weights = {"weight_ih": w_ih, "weight_hh": w_hh, "bias_ih": b_ih, "bias_hh": b_hh}
        state = (h, 2 * h) if name == "lstm_cell" else h
        return t.func.functional_call(made, weights, (x, state))

    return (name, call, layer, arrays)


#: A name, the call, the same by ``nn.functional``, and the arrays of the tensors.
CASES = [
    ("layer_norm", lambda t, x, w: t.layer_norm(x, (6,), w, None, 1e-3, True),
     lambda t, x, w: t.nn.functional.layer_norm(x, (6,), w, None, 1e-3), (X, OTHER[0, 0])),
    ("rms_norm", lambda t, x: t.rms_norm(x, (6,)),
     lambda t, x: t.nn.functional.rms_norm(x, (6,)), (X,)),
    ("group_norm", lambda t, x, w: t.group_norm(x, 2, w, w),
     lambda t, x, w: t.nn.functional.group_norm(x, 2, w, w), (X, CHANNELS)),
    ("batch_norm", lambda t, x, w: t.batch_norm(x, w, w, None, None, True, 0.1, 1e-5, True),
     lambda t, x, w: t.nn.functional.batch_norm(x, None, None, w, w, True), (X, CHANNELS)),
    ("batch_norm_of_averages",
     lambda t, x, w: t.batch_norm(x, w, None, w.data, w.data**2, False, 0.1, 1e-5, True),
     lambda t, x, w: t.nn.functional.batch_norm(x, w.data, w.data**2, w), (X, CHANNELS)),
    ("instance_norm",
     lambda t, x, w: t.instance_norm(x, w, None, None, None, True, 0.1, 1e-5, True),
     lambda t, x, w: t.nn.functional.instance_norm(x, weight=w), (X, CHANNELS)),
    ("avg_pool1d", lambda t, x: t.avg_pool1d(x, 3, [], 1),
     lambda t, x: t.nn.functional.avg_pool1d(x, 3, padding=1), (X,)),
    ("max_pool1d", lambda t, x: t.max_pool1d(x, [2], [1]),
     lambda t, x: t.nn.functional.max_pool1d(x, 2, 1), (X,)),
    ("max_pool1d_with_indices", lambda t, x: t.max_pool1d_with_indices(x, 2),
     lambda t, x: t.nn.functional.max_pool1d(x, 2, return_indices=True), (X,)),
    ("max_pool2d", lambda t, x: t.max_pool2d(x, 2, [], 0, 1, True),
     lambda t, x: t.nn.functional.max_pool2d(x, 2, ceil_mode=True), (X,)),
    ("max_pool3d", lambda t, x: t.max_pool3d(x[None], 2),
     lambda t, x: t.nn.functional.max_pool3d(x[None], 2), (X,)),
    ("adaptive_avg_pool1d", lambda t, x: t.adaptive_avg_pool1d(x, 4),
     lambda t, x: t.nn.functional.adaptive_avg_pool1d(x, 4), (X,)),
    ("adaptive_max_pool1d", lambda t, x: t.adaptive_max_pool1d(x, 4),
     lambda t, x: t.nn.functional.adaptive_max_pool1d(x, 4, return_indices=True), (X,)),
    ("constant_pad_nd", lambda t, x: t.constant_pad_nd(x, [1, -1, 0, 2], 3.5),
     lambda t, x: t.nn.functional.pad(x, [1, -1, 0, 2], value=3.5), (X,)),
    ("native_channel_shuffle", lambda t, x: t.native_channel_shuffle(x[None], 2),
     lambda t, x: t.nn.functional.channel_shuffle(x[None], 2), (X,)),
    ("convolution", lambda t, x, w: t.convolution(x, w[None], None, [1], [2], [1], False, [0], 1),
     lambda t, x, w: t.nn.functional.conv1d(x, w[None], padding=2), (X, OTHER[0])),
    ("convolution_transposed",
     lambda t, x, w: t.convolution(x, w[:, None], None, [2], [1], [1], True, [1], 1),
     lambda t, x, w: t.nn.functional.conv_transpose1d(x, w[:, None], None, 2, 1, 1),
     (X, OTHER[0])),
    ("kl_div", lambda t, x, y: t.kl_div(x, y, 2), lambda t, x, y: t.nn.functional.kl_div(
        x, y, reduction="sum"), (X, POSITIVE)),
    ("kl_div_mean", lambda t, x, y: t.kl_div(x, y, 1, log_target=True),
     lambda t, x, y: t.nn.functional.kl_div(x, y, reduction="none", log_target=True).mean(),
     (X, OTHER)),
    ("binary_cross_entropy_with_logits",
     lambda t, x, y, w: t.binary_cross_entropy_with_logits(x, y, w.detach(), None, 1),
     lambda t, x, y, w: t.nn.functional.binary_cross_entropy_with_logits(x, y, w.detach()),
     (X, POSITIVE, OTHER)),
    ("hinge_embedding_loss", lambda t, x, y: t.hinge_embedding_loss(x, y, 2.0),
     lambda t, x, y: t.nn.functional.hinge_embedding_loss(x, y, 2.0, reduction="none"), (X, SIGNS)),
    ("cosine_embedding_loss", lambda t, x, y, s: t.cosine_embedding_loss(x[0], y[0], s[0, :, 0]),
     lambda t, x, y, s: t.nn.functional.cosine_embedding_loss(
         x[0], y[0], s[0, :, 0], reduction="none"), (X, OTHER, SIGNS)),
    ("margin_ranking_loss", lambda t, x, y, s: t.margin_ranking_loss(x, y, s, 0.5, 1),
     lambda t, x, y, s: t.nn.functional.margin_ranking_loss(x, y, s, 0.5), (X, OTHER, SIGNS)),
    ("triplet_margin_loss", lambda t, x, y, z: t.triplet_margin_loss(x, y, z, swap=True),
     lambda t, x, y, z: t.nn.functional.triplet_margin_loss(x, y, z, swap=True, reduction="none"),
     (X, OTHER, POSITIVE)),
    ("poisson_nll_loss", lambda t, x, y: t.poisson_nll_loss(x, y, True, True, 1e-8, 2),
     lambda t, x, y: t.nn.functional.poisson_nll_loss(x, y, full=True, reduction="sum"),
     (X, POSITIVE)),
    ("ctc_loss",
     lambda t, x: t.ctc_loss(x.log_softmax(-1), t.tensor([[1, 2]] * 4), [2] * 4, [2] * 4),
     lambda t, x: t.nn.functional.ctc_loss(
         x.log_softmax(-1), t.tensor([[1, 2]] * 4), [2] * 4, [2] * 4, reduction="none"), (X,)),
    *[cell(name, gates) for name, gates in (
        ("rnn_tanh_cell", 1), ("rnn_relu_cell", 1), ("gru_cell", 3), ("lstm_cell", 4))],
]  # fmt: skip


def results_of(function, t, arrays):
    """Arrays of the results and of the gradients of the inputs."""
    inputs = [t.from_numpy(x.copy()).requires_grad_() for x in arrays]
    made = function(t, *inputs)
    made = made if isinstance(made, tuple) else (made,)
    total = sum((x * x).sum() for x in made if x.requires_grad)
    gradients = t.autograd.grad(total, inputs, allow_unused=True)
    return [x.detach().numpy() for x in (*made, *gradients) if x is not None]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_computes_what_the_function_of_layers_does(case):
    _, call, same, arrays = case
    made, wanted = results_of(call, torch, arrays), results_of(same, torch, arrays)
    for mine, other in zip(made, wanted, strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-12, atol=1e-12)


DROPPING = ("dropout", "alpha_dropout", "feature_dropout", "feature_alpha_dropout")


class TestDropout:
    @pytest.mark.parametrize("name", DROPPING)
    def test_draws_as_the_layer(self, name):
        layer = {"feature_dropout": "dropout2d"}.get(name, name)
        x = torch.from_numpy(X.copy())
        torch.manual_seed(3)
        made = getattr(torch, name)(x, 0.4, True)
        torch.manual_seed(3)
        wanted = getattr(torch.nn.functional, layer)(x, 0.4, True)
        torch.manual_seed(3)
        written = x.clone()
        assert getattr(torch, name + "_")(written, 0.4, True) is written
        assert made.tolist() == wanted.tolist() == written.tolist()
        assert getattr(torch, name)(x, 0.4, False) is x

    @pytest.mark.parametrize("name", DROPPING)
    def test_no_probability(self, name):
        with pytest.raises(RuntimeError, match="between 0 and 1, but got 1.5"):
            getattr(torch, name)(torch.ones(2, 2), 1.5, False)

    def test_the_mask(self):
        x = torch.ones(100)
        made, mask = torch.native_dropout(x, 0.5, True)
        assert mask.dtype is torch.bool and 0 < mask.sum() < 100
        assert made.tolist() == (mask * 2.0).tolist()
        assert torch.native_dropout(x, 0.5, False)[1].all()


class TestStatistics:
    def test_layer_norm_with_its_mean_and_deviation(self):
        x = torch.from_numpy(X)
        made, mean, scale = torch.native_layer_norm(x, [4, 6], None, None, 1e-5)
        np.testing.assert_allclose(mean.numpy(), X.mean((1, 2), keepdims=True))
        np.testing.assert_allclose(scale.numpy(), (X.var((1, 2), keepdims=True) + 1e-5) ** -0.5)
        np.testing.assert_allclose(made.numpy(), ((x - mean) * scale).numpy())

    @pytest.mark.parametrize("mode", range(3))
    def test_bags(self, mode):
        weight = torch.from_numpy(ROWS)
        indices, offsets = torch.tensor([0, 1, 4, 2, 2]), torch.tensor([0, 2, 2])
        made, bags, sizes, rows = torch.embedding_bag(weight, indices, offsets, False, mode)
        wanted = torch.nn.functional.embedding_bag(
            indices, weight, offsets, mode=("sum", "mean", "max")[mode]
        )
        assert made.tolist() == wanted.tolist()
        assert bags.tolist() == [0, 0, 2, 2, 2] and sizes.tolist() == [2, 0, 3]
        if mode == 2:
            assert weight.gather(0, rows)[[0, 2]].tolist() == wanted[[0, 2]].tolist()

    def test_bags_without_padding(self):
        weight = torch.from_numpy(ROWS)
        indices, offsets = torch.tensor([0, 1, 4]), torch.tensor([0, 1, 3])
        _, _, sizes, rows = torch.embedding_bag(
            weight, indices, offsets, mode=2, include_last_offset=True, padding_idx=4
        )
        assert sizes.tolist() == [1, 1] and rows.tolist() == [[0] * 4, [1] * 4]


class TestErrors:
    def test_an_odd_number_of_widths(self):
        with pytest.raises(
            RuntimeError, match="Length of pad must be even but instead it equals 1"
        ):
            torch.constant_pad_nd(torch.ones(2), [1])

    def test_what_is_no_tensor_is_named(self):
        with pytest.raises(TypeError, match=r"layer_norm\(\): argument 'input'.*must be Tensor"):
            torch.layer_norm([1.0], (1,))


@pytest.fixture
def restored():
    """Leave the switches as they were."""
    before = torch.get_float32_matmul_precision(), torch.get_deterministic_debug_mode()
    yield
    torch.set_float32_matmul_precision(before[0])
    torch.set_deterministic_debug_mode(before[1])
    torch.set_anomaly_enabled(False)


@pytest.mark.usefixtures("restored")
class TestSwitches:
    @pytest.mark.parametrize("precision", ["highest", "high", "medium"])
    def test_precision(self, precision):
        torch.set_float32_matmul_precision(precision)
        assert torch.get_float32_matmul_precision() == precision

    def test_no_precision(self):
        before = torch.get_float32_matmul_precision()
        with pytest.warns(UserWarning, match="low is not one of 'highest', 'high', or 'medium'"):
            torch.set_float32_matmul_precision("low")
        assert torch.get_float32_matmul_precision() == before
        with pytest.raises(RuntimeError, match="expects a str, but got int"):
            torch.set_float32_matmul_precision(3)

    def test_deterministic_algorithms(self):
        torch.use_deterministic_algorithms(True)
        assert torch.are_deterministic_algorithms_enabled()
        assert not torch.is_deterministic_algorithms_warn_only_enabled()
        torch.use_deterministic_algorithms(True, warn_only=True)
        assert torch.is_deterministic_algorithms_warn_only_enabled()
        assert torch.get_deterministic_debug_mode() == 1
        torch.use_deterministic_algorithms(False)
        assert not torch.are_deterministic_algorithms_enabled()
        with pytest.raises(TypeError, match="'mode' .position 1. must be bool, not int"):
            torch.use_deterministic_algorithms(1)

    @pytest.mark.parametrize(
        ("mode", "number"), [("default", 0), ("warn", 1), ("error", 2), (2, 2)]
    )
    def test_debug_mode(self, mode, number):
        torch.set_deterministic_debug_mode(mode)
        assert torch.get_deterministic_debug_mode() == number

    @pytest.mark.parametrize(
        ("mode", "error", "message"),
        [
            (5, RuntimeError, "expected 0, 1, or 2, but got 5"),
            ("bad", RuntimeError, "expected one of `default`, `warn`, `error`, but got bad"),
            (1.5, TypeError, "must be str or int, but got <class 'float'>"),
        ],
    )
    def test_no_debug_mode(self, mode, error, message):
        with pytest.raises(error, match=message):
            torch.set_deterministic_debug_mode(mode)

    def test_threads_between_operators(self, monkeypatch):
        from numbagrad import switches

        monkeypatch.setattr(switches._settings, "interop_threads", None)
        assert torch.get_num_interop_threads() >= 1
        with pytest.raises(RuntimeError, match="expects a positive integer"):
            torch.set_num_interop_threads(0)
        with pytest.raises(RuntimeError, match="expects an int, but got str"):
            torch.set_num_interop_threads("a")
        torch.set_num_interop_threads(3)
        assert torch.get_num_interop_threads() == 3
        with pytest.raises(RuntimeError, match="cannot set number of interop threads after"):
            torch.set_num_interop_threads(3)

    def test_denormal_numbers_stay(self):
        assert torch.set_flush_denormal(True) is False
        assert (torch.tensor(1e-310, dtype=torch.float64) * 2).item() == 2e-310
        with pytest.raises(RuntimeError, match="expects a bool, but got int"):
            torch.set_flush_denormal(1)

    def test_anomaly(self):
        torch.set_anomaly_enabled(True, check_nan=False)
        assert torch.is_anomaly_enabled() and not torch.is_anomaly_check_nan_enabled()
        torch.set_anomaly_enabled(False)
        assert not torch.is_anomaly_enabled() and torch.is_anomaly_check_nan_enabled()
        with pytest.raises(TypeError, match="'enabled' .position 1. must be bool, not int"):
            torch.set_anomaly_enabled(1)
