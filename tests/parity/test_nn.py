"""Modules, layers, losses, initial values and hooks against live torch."""

import inspect
from collections import OrderedDict

import pytest
import torch
from parity_tools import both, close, message

import numbagrad

# --- text -----------------------------------------------------------------------------------------

TEXTS = [
    lambda nn: nn.Linear(3, 4), lambda nn: nn.Linear(3, 4, bias=False),
    lambda nn: nn.Bilinear(2, 3, 4), lambda nn: nn.Identity(), lambda nn: nn.Embedding(5, 3),
    lambda nn: nn.Embedding(5, 3, padding_idx=-1, max_norm=2.0, norm_type=1.0),
    lambda nn: nn.Flatten(), lambda nn: nn.Unflatten(1, (2, 3)),
    lambda nn: nn.ReLU(), lambda nn: nn.ReLU(inplace=True), lambda nn: nn.ReLU6(True),
    lambda nn: nn.SELU(), lambda nn: nn.SiLU(True), lambda nn: nn.Mish(), lambda nn: nn.GELU(),
    lambda nn: nn.GELU("tanh"), lambda nn: nn.Hardtanh(-2, 2, True), lambda nn: nn.Hardsigmoid(),
    lambda nn: nn.Hardswish(True), lambda nn: nn.Threshold(0.1, 20.0), lambda nn: nn.ELU(0.5),
    lambda nn: nn.CELU(0.5, True), lambda nn: nn.LeakyReLU(), lambda nn: nn.Sigmoid(),
    lambda nn: nn.Tanh(), lambda nn: nn.LogSigmoid(), lambda nn: nn.Softsign(),
    lambda nn: nn.Tanhshrink(), lambda nn: nn.Softplus(), lambda nn: nn.Hardshrink(),
    lambda nn: nn.Softshrink(0.3), lambda nn: nn.PReLU(4), lambda nn: nn.Softmax(dim=1),
    lambda nn: nn.LogSoftmax(), lambda nn: nn.Softmin(0), lambda nn: nn.GLU(),
    lambda nn: nn.Softmax2d(), lambda nn: nn.Dropout(), lambda nn: nn.Dropout2d(0.2, True),
    lambda nn: nn.AlphaDropout(0.1), lambda nn: nn.LayerNorm(4), lambda nn: nn.LayerNorm([2, 3]),
    lambda nn: nn.LayerNorm(4, bias=False), lambda nn: nn.RMSNorm(3), lambda nn: nn.GroupNorm(2, 4),
    lambda nn: nn.BatchNorm1d(3), lambda nn: nn.BatchNorm2d(3, momentum=None, affine=False),
    lambda nn: nn.MSELoss(), lambda nn: nn.CrossEntropyLoss(), lambda nn: nn.BCEWithLogitsLoss(),
    lambda nn: nn.RReLU(), lambda nn: nn.RReLU(0.1, 0.2, True), lambda nn: nn.CosineSimilarity(),
    lambda nn: nn.MultiMarginLoss(), lambda nn: nn.TripletMarginWithDistanceLoss(),
    lambda nn: nn.TripletMarginLoss(), lambda nn: nn.Sequential(), lambda nn: nn.ModuleList(),
    lambda nn: nn.Sequential(nn.Linear(1, 2), nn.Sequential(nn.ReLU(), nn.Dropout())),
    lambda nn: nn.Sequential(OrderedDict([("a", nn.Linear(1, 2)), ("b", nn.Tanh())])),
    lambda nn: nn.ModuleList([nn.Linear(2, 2) for _ in range(3)] + [nn.ReLU(), nn.Tanh()]),
    lambda nn: nn.ModuleList([nn.Sequential(nn.ReLU(), nn.Tanh()) for _ in range(2)]),
    lambda nn: nn.ModuleDict({"x": nn.Linear(1, 1), "y": nn.ModuleList([nn.ReLU()])}),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(TEXTS)))
def test_text_of_modules(number):
    ours, theirs = both(lambda library: repr(TEXTS[number](library.nn)))
    assert ours == theirs


def test_text_of_parameters():
    def text(library):
        nn = library.nn
        parameter = nn.Parameter(library.tensor([1.0, 2.5]))
        holder = nn.ParameterDict({"b": parameter, "a": library.zeros(2, 3)})
        rows = nn.ParameterList([library.zeros(2), library.ones(3, 4)])
        frozen = nn.Parameter(library.ones(1), requires_grad=False)
        return [repr(x) for x in (parameter, frozen, holder, rows, nn.Buffer(library.ones(2)))]

    ours, theirs = both(text)
    assert ours == theirs


# --- layers ---------------------------------------------------------------------------------------

LAYERS = {
    "linear": (lambda nn: nn.Linear(4, 3), (5, 4)),
    "linear of a vector": (lambda nn: nn.Linear(4, 3), (4,)),
    "linear of a stack": (lambda nn: nn.Linear(4, 3), (2, 5, 4)),
    "linear without bias": (lambda nn: nn.Linear(4, 3, bias=False), (2, 5, 4)),
    "layer norm": (lambda nn: nn.LayerNorm(4), (5, 4)),
    "layer norm of two": (lambda nn: nn.LayerNorm((3, 4), bias=False), (5, 3, 4)),
    "rms norm": (lambda nn: nn.RMSNorm(4), (5, 4)),
    "group norm": (lambda nn: nn.GroupNorm(2, 4), (3, 4, 5)),
    "batch norm": (lambda nn: nn.BatchNorm1d(4), (6, 4)),
    "batch norm of images": (lambda nn: nn.BatchNorm2d(4), (3, 4, 2, 2)),
    "batch norm in eval": (lambda nn: nn.BatchNorm1d(4).eval(), (6, 4)),
    "batch norm average": (lambda nn: nn.BatchNorm1d(4, momentum=None), (6, 4)),
    "dropout": (lambda nn: nn.Dropout(0.3), (7, 9)),
    "dropout of all": (lambda nn: nn.Dropout(1.0), (3, 4)),
    "dropout of channels": (lambda nn: nn.Dropout2d(0.4), (4, 5, 2, 2)),
    "dropout of rows": (lambda nn: nn.Dropout1d(0.4), (5, 3)),
    "alpha dropout": (lambda nn: nn.AlphaDropout(0.3), (5, 6)),
    "prelu": (lambda nn: nn.PReLU(4), (5, 4)),
    "softmax": (lambda nn: nn.Softmax(1), (5, 4)),
    "log softmax": (lambda nn: nn.LogSoftmax(-1), (5, 4)),
    "softmin": (lambda nn: nn.Softmin(0), (5, 4)),
    "glu": (lambda nn: nn.GLU(), (5, 4)),
    "flatten": (lambda nn: nn.Flatten(), (2, 3, 4)),
    "unflatten": (lambda nn: nn.Unflatten(1, (2, 2)), (3, 4)),
    "network": (
        lambda nn: nn.Sequential(nn.Linear(4, 6), nn.GELU(), nn.LayerNorm(6), nn.Linear(6, 2)),
        (5, 4),
    ),
}


@pytest.mark.parametrize("case", LAYERS)
def test_layers_and_their_gradients(case):
    make, shape = LAYERS[case]

    def run(library):
        layer = make(library.nn)
        x = library.randn(*shape, requires_grad=True)
        for _ in range(2):
            y = layer(x)
        (y * library.randn(*y.shape)).sum().backward()
        state = [value.double() for value in layer.state_dict().values()]
        return y, x.grad, [p.grad for p in layer.parameters()], state

    ours, theirs = both(run)
    close(ours[0], theirs[0])
    close(ours[1], theirs[1])
    for mine, reference in zip(ours[2] + ours[3], theirs[2] + theirs[3], strict=True):
        close(mine, reference, atol=1e-5)


def test_bilinear_and_embedding():
    def run(library):
        layer = library.nn.Bilinear(3, 4, 2)
        y = layer(library.randn(5, 3), library.randn(5, 4))
        table = library.nn.Embedding(6, 3, padding_idx=1)
        z = table(library.tensor([[0, 1], [5, 0]]))
        (y.sum() + (z * z).sum()).backward()
        short = library.nn.Embedding(6, 3, max_norm=1.0)
        return [
            y, z, layer.weight.grad, layer.bias.grad, table.weight.grad,
            short(library.tensor([1, 2, 1])), short.weight,
        ]  # fmt: skip

    for ours, theirs in zip(*both(run), strict=True):
        close(ours, theirs)


# --- losses ---------------------------------------------------------------------------------------


def _scores(lib):
    return lib.randn(6, 4, requires_grad=True)


def _classes(lib):
    return lib.tensor([0, 3, 1, 1, 2, 0])


LOSSES = {
    "mse": lambda lib, F, x, r: F.mse_loss(x, lib.randn(6, 4), reduction=r),
    "mse weighted": lambda lib, F, x, r: F.mse_loss(
        x, lib.randn(6, 4), reduction=r, weight=lib.rand(6, 4)
    ),
    "l1": lambda lib, F, x, r: F.l1_loss(x, lib.randn(6, 4), reduction=r),
    "smooth l1": lambda lib, F, x, r: F.smooth_l1_loss(x, lib.randn(6, 4), reduction=r, beta=0.7),
    "huber": lambda lib, F, x, r: F.huber_loss(x, lib.randn(6, 4), reduction=r, delta=0.5),
    "bce": lambda lib, F, x, r: F.binary_cross_entropy(x.sigmoid(), lib.rand(6, 4), reduction=r),
    "bce weighted": lambda lib, F, x, r: F.binary_cross_entropy(
        x.sigmoid(), lib.rand(6, 4), lib.rand(4), reduction=r
    ),
    "bce with logits": lambda lib, F, x, r: F.binary_cross_entropy_with_logits(
        x, lib.rand(6, 4), reduction=r
    ),
    "bce with pos_weight": lambda lib, F, x, r: F.binary_cross_entropy_with_logits(
        x, lib.rand(6, 4), lib.rand(4), reduction=r, pos_weight=lib.rand(4)
    ),
    "kl": lambda lib, F, x, r: F.kl_div(
        F.log_softmax(x, 1), lib.rand(6, 4), reduction="batchmean" if r == "mean" else r
    ),
    "nll": lambda lib, F, x, r: F.nll_loss(F.log_softmax(x, 1), _classes(lib), reduction=r),
    "nll weighted": lambda lib, F, x, r: F.nll_loss(
        F.log_softmax(x, 1), _classes(lib), lib.rand(4), reduction=r
    ),
    "nll of places": lambda lib, F, x, r: F.nll_loss(
        x.reshape(2, 4, 3), _classes(lib).reshape(2, 3), reduction=r
    ),
    "cross entropy": lambda lib, F, x, r: F.cross_entropy(x, _classes(lib), reduction=r),
    "cross entropy of one": lambda lib, F, x, r: F.cross_entropy(x[0], lib.tensor(2), reduction=r),
    "cross entropy weighted": lambda lib, F, x, r: F.cross_entropy(
        x, _classes(lib), lib.rand(4), reduction=r, ignore_index=1
    ),
    "cross entropy smoothed": lambda lib, F, x, r: F.cross_entropy(
        x, _classes(lib), reduction=r, label_smoothing=0.2
    ),
    "cross entropy smoothed and weighted": lambda lib, F, x, r: F.cross_entropy(
        x, _classes(lib), lib.rand(4), reduction=r, label_smoothing=0.2, ignore_index=3
    ),
    "cross entropy of probabilities": lambda lib, F, x, r: F.cross_entropy(
        x, lib.rand(6, 4), lib.rand(4), reduction=r, label_smoothing=0.1
    ),
    "poisson": lambda lib, F, x, r: F.poisson_nll_loss(
        x, lib.rand(6, 4) * 5, full=True, reduction=r
    ),
    "gaussian": lambda lib, F, x, r: F.gaussian_nll_loss(
        x, lib.randn(6, 4), lib.rand(6, 4), full=True, reduction=r
    ),
    "hinge": lambda lib, F, x, r: F.hinge_embedding_loss(x, lib.randn(6, 4).sign(), reduction=r),
    "ranking": lambda lib, F, x, r: F.margin_ranking_loss(
        x, lib.randn(6, 4), lib.randn(6, 4).sign(), 0.3, reduction=r
    ),
    "soft margin": lambda lib, F, x, r: F.soft_margin_loss(x, lib.randn(6, 4).sign(), reduction=r),
    "cosine": lambda lib, F, x, r: F.cosine_embedding_loss(
        x, lib.randn(6, 4), lib.randn(6).sign(), 0.1, reduction=r
    ),
    "triplet": lambda lib, F, x, r: F.triplet_margin_loss(
        x, lib.randn(6, 4), lib.randn(6, 4), swap=True, reduction=r
    ),
    "triplet by cosine": lambda lib, F, x, r: F.triplet_margin_with_distance_loss(
        x, lib.randn(6, 4), lib.randn(6, 4), distance_function=F.cosine_similarity, reduction=r
    ),
    "multi margin": lambda lib, F, x, r: F.multi_margin_loss(x, _classes(lib), reduction=r),
    "multi margin squared": lambda lib, F, x, r: F.multi_margin_loss(
        x, _classes(lib), 2, 0.5, lib.rand(4), reduction=r
    ),
    "multi margin of one": lambda lib, F, x, r: F.multi_margin_loss(
        x[0], lib.tensor(2), reduction=r
    ),
    "multilabel margin": lambda lib, F, x, r: F.multilabel_margin_loss(
        x, lib.tensor([[0, 2, -1, 1], [-1, 0, 0, 0]] * 3), reduction=r
    ),
    "multilabel soft margin": lambda lib, F, x, r: F.multilabel_soft_margin_loss(
        x, lib.rand(6, 4), lib.rand(4), reduction=r
    ),
}


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("case", LOSSES)
def test_losses_and_their_gradients(case, reduction):
    def run(library):
        x = _scores(library)
        loss = LOSSES[case](library, library.nn.functional, x, reduction)
        (loss * loss).sum().backward()
        return loss, x.grad

    ours, theirs = both(run)
    close(ours[0], theirs[0])
    close(ours[1], theirs[1], atol=1e-5)


@pytest.mark.usefixtures("traced_at_once")
@pytest.mark.parametrize("case", [
    "mse", "smooth l1", "huber", "bce with logits", "nll", "cross entropy", "nll of places",
])  # fmt: skip
def test_losses_name_their_nodes_as_torch(case):
    ours, theirs = both(
        lambda lib: LOSSES[case](lib, lib.nn.functional, _scores(lib), "mean").grad_fn.name()
    )
    assert ours == theirs


@pytest.mark.parametrize("case", ["mse", "huber", "bce with logits", "cross entropy"])
def test_second_derivatives_of_losses(case):
    def run(library):
        x = _scores(library)
        loss = LOSSES[case](library, library.nn.functional, x, "mean")
        (first,) = library.autograd.grad(loss, x, create_graph=True)
        (first * first).sum().backward()
        return x.grad

    ours, theirs = both(run)
    close(ours, theirs)


def test_other_functions():
    def run(library):
        F = library.nn.functional
        x = library.randn(3, 4, requires_grad=True)
        results = [
            F.normalize(x), F.normalize(x, p=1.0, dim=0), F.pad(x, (1, 2)),
            F.pad(x, (1, 0, 2, -1), value=3.0), F.pad(x.unsqueeze(0), (2, 1), "reflect"),
            F.pad(x.unsqueeze(0), (2, 1), "replicate"), F.pad(x.unsqueeze(0), (2, 1), "circular"),
            F.cosine_similarity(x, library.randn(3, 4)),
            F.pairwise_distance(x, library.randn(3, 4)), F.rrelu(x), F.rrelu(x, 0.1, 0.4, True),
            F.gumbel_softmax(x, 0.7), F.gumbel_softmax(x, hard=True, dim=0),
        ]  # fmt: skip
        sum((result**2).sum() for result in results).backward()
        return [*results, x.grad, F.one_hot(library.tensor([[0, 2], [1, 0]])).float()]

    for ours, theirs in zip(*both(run), strict=True):
        close(ours, theirs, atol=1e-5)


ERRORS = [
    lambda lib: lib.nn.functional.nll_loss(lib.randn(3, 4), lib.tensor([0, 1])),
    lambda lib: lib.nn.functional.cross_entropy(lib.randn(3, 4), lib.tensor([0, 1, 7])),
    lambda lib: lib.nn.functional.cross_entropy(lib.randn(3, 4), lib.randn(3, 5)),
    lambda lib: lib.nn.functional.cross_entropy(lib.randn(2, 4), lib.tensor([0, 1]).int()),
    lambda lib: lib.nn.functional.layer_norm(lib.randn(3, 4), (3,)),
    lambda lib: lib.nn.functional.one_hot(lib.tensor([0, 3]), 2),
    lambda lib: lib.nn.functional.one_hot(lib.tensor([0.0])),
    lambda lib: lib.nn.functional.pad(lib.randn(3, 4), (1,)),
    lambda lib: lib.nn.functional.pad(lib.randn(3, 4), (1, 2, 3, 4, 5, 6)),
    lambda lib: lib.nn.functional.dropout(lib.randn(3), p=2),
    lambda lib: lib.nn.Dropout(-1),
    lambda lib: lib.nn.Linear(3, 2)(lib.randn(4, 5)),
    lambda lib: lib.nn.Linear(3, 2)(lib.randn(2, 4, 5)),
    lambda lib: lib.nn.BatchNorm1d(3)(lib.randn(1, 3)),
    lambda lib: lib.nn.BatchNorm1d(3)(lib.randn(3)),
    lambda lib: lib.nn.Parameter(lib.tensor([1])),
    lambda lib: lib.nn.Module()(1),
    lambda lib: lib.nn.Module(3),
    lambda lib: lib.nn.Module(a=3),
    lambda lib: lib.nn.Linear(1, 1).missing,
    lambda lib: setattr(lib.nn.Linear(1, 1), "weight", lib.ones(1, 1)),
    lambda lib: setattr(lib.nn.Sequential(lib.nn.ReLU()), "0", 3),
    lambda lib: setattr(lib.nn.BatchNorm1d(1), "running_mean", 3),
    lambda lib: lib.nn.Linear(1, 1).register_parameter("a.b", None),
    lambda lib: lib.nn.Linear(1, 1).register_parameter("", None),
    lambda lib: lib.nn.Linear(1, 1).register_parameter("forward", None),
    lambda lib: lib.nn.Linear(1, 1).register_parameter("a", lib.ones(1)),
    lambda lib: lib.nn.Linear(1, 1).register_parameter(3, None),
    lambda lib: lib.nn.Linear(1, 1).register_buffer("weight", lib.ones(1)),
    lambda lib: lib.nn.Linear(1, 1).register_buffer("b", 3),
    lambda lib: lib.nn.Linear(1, 1).add_module("a", 3),
    lambda lib: lib.nn.Linear(1, 1).add_module("a.b", lib.nn.ReLU()),
    lambda lib: lib.nn.Linear(1, 1).get_submodule("a"),
    lambda lib: lib.nn.Linear(1, 1).get_parameter("training"),
    lambda lib: lib.nn.Linear(1, 1).get_buffer("weight"),
    lambda lib: lib.nn.Linear(1, 1).to(lib.int64),
    lambda lib: lib.nn.Linear(1, 1).train(3),
    lambda lib: lib.nn.Linear(1, 1).load_state_dict([]),
    lambda lib: lib.nn.Linear(1, 1).load_state_dict({}),
    lambda lib: lib.nn.Linear(1, 1).load_state_dict(lib.nn.Linear(2, 1).state_dict()),
    lambda lib: lib.nn.Linear(1, 1, False).load_state_dict(lib.nn.Linear(1, 1).state_dict()),
    lambda lib: lib.nn.Sequential(lib.nn.Linear(1, 1)).load_state_dict(
        {"0.weight": 3, "1.weight": lib.ones(1), "x": 1}
    ),
    lambda lib: lib.nn.Sequential(lib.nn.ReLU())[3],
    lambda lib: lib.nn.ModuleList([lib.nn.ReLU()])[-2],
    lambda lib: lib.nn.ModuleList().extend(3),
    lambda lib: lib.nn.ModuleDict([1]),
    lambda lib: lib.nn.ModuleDict([("a",)]),
    lambda lib: lib.nn.ParameterList([])(),
    lambda lib: lib.nn.ParameterList(lib.ones(2)),
    lambda lib: lib.nn.ParameterDict({})(1),
    lambda lib: lib.nn.Sequential() + 3,
    lambda lib: lib.nn.Embedding(3, 2, padding_idx=5),
    lambda lib: lib.nn.init.kaiming_uniform_(lib.ones(3)),
    lambda lib: lib.nn.init.kaiming_uniform_(lib.ones(3, 3), mode="fan"),
    lambda lib: lib.nn.init.calculate_gain("swish"),
    lambda lib: lib.nn.init.eye_(lib.ones(3)),
    lambda lib: lib.nn.utils.vector_to_parameters(3, []),
    lambda lib: lib.nn.Softmax2d()(lib.ones(2)),
    lambda lib: lib.nn.GroupNorm(2, 3),
    lambda lib: lib.nn.TripletMarginLoss(margin=-1),
    lambda lib: lib.nn.TripletMarginWithDistanceLoss(margin=-1),
    lambda lib: lib.nn.functional.multi_margin_loss(lib.randn(3, 4), lib.tensor([0, 1])),
    lambda lib: lib.nn.functional.multi_margin_loss(lib.randn(3, 4), lib.tensor([0, 1, 7])),
    lambda lib: lib.nn.functional.multi_margin_loss(lib.randn(3, 4), lib.tensor([0, 1, 2]), p=3),
    lambda lib: lib.nn.functional.multilabel_margin_loss(lib.randn(3, 4), lib.tensor([0, 1, 7])),
    lambda lib: lib.nn.functional.rrelu(lib.randn(3), 0.5, 0.2),
    lambda lib: lib.nn.InstanceNorm2d(3)(lib.randn(2, 3)),
    lambda lib: lib.nn.InstanceNorm2d(3)(lib.randn(1, 3, 1, 1)),
    lambda lib: lib.nn.InstanceNorm2d(3, affine=True)(lib.randn(1, 4, 2, 2)),
    lambda lib: lib.nn.LocalResponseNorm(3)(lib.randn(3, 4)),
]


@pytest.mark.parametrize("number", range(len(ERRORS)))
def test_errors_have_the_text_of_torch(number):
    assert message(numbagrad, ERRORS[number]) == message(torch, ERRORS[number])


# --- initial values -------------------------------------------------------------------------------

INITIAL = {
    "uniform": lambda init, x: init.uniform_(x, -1, 2),
    "normal": lambda init, x: init.normal_(x, 1, 2),
    "constant": lambda init, x: init.constant_(x, 3),
    "ones": lambda init, x: init.ones_(x),
    "zeros": lambda init, x: init.zeros_(x),
    "eye": lambda init, x: init.eye_(x),
    "xavier uniform": lambda init, x: init.xavier_uniform_(x, gain=1.5),
    "xavier normal": lambda init, x: init.xavier_normal_(x),
    "kaiming uniform": lambda init, x: init.kaiming_uniform_(x, nonlinearity="relu"),
    "kaiming normal": lambda init, x: init.kaiming_normal_(x, 0.3, mode="fan_out"),
    "truncated": lambda init, x: init.trunc_normal_(x, std=0.02),
    "truncated often": lambda init, x: init.trunc_normal_(x, 0.1, 1.0, -0.5, 1.5),
    "truncated tail": lambda init, x: init.trunc_normal_(x, 0.0, 1.0, 1.5, 2.5),
    "orthogonal": lambda init, x: init.orthogonal_(x, gain=2),
    "sparse": lambda init, x: init.sparse_(x, 0.4),
}


@pytest.mark.parametrize("shape", [(20, 7), (6, 9)])
@pytest.mark.parametrize("case", INITIAL)
def test_initial_values(case, shape):
    ours, theirs = both(lambda lib: INITIAL[case](lib.nn.init, lib.empty(*shape)))
    close(ours, theirs, rtol=1e-5, atol=1e-6)


def test_initial_values_of_layers():
    def run(library):
        nn = library.nn
        model = nn.Sequential(nn.Linear(3, 5), nn.Bilinear(2, 3, 4), nn.Embedding(4, 3, 1))
        dirac = nn.init.dirac_(library.empty(4, 2, 3), 2)
        return [*model.parameters(), dirac]

    for ours, theirs in zip(*both(run), strict=True):
        close(ours, theirs, rtol=1e-6, atol=0)


# --- modules --------------------------------------------------------------------------------------


def test_state_dict_has_the_keys_and_versions_of_torch():
    def run(library):
        nn = library.nn
        model = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2), nn.ModuleDict({"a": nn.PReLU()}))
        model.register_buffer("fixed", library.ones(1))
        model.register_buffer("hidden", library.ones(1), persistent=False)
        model.register_parameter("nothing", None)
        state = model.state_dict()
        names = [name for name, _ in model.named_modules()]
        members = [name for name, _ in (*model.named_parameters(), *model.named_buffers())]
        return list(state), state._metadata, names, members

    ours, theirs = both(run)
    assert ours == theirs


def test_hooks_see_what_they_see_in_torch():
    def run(library):
        nn = library.nn
        seen = []

        def record(name):
            def hook(module, *values):
                flat = []
                for value in values:
                    for entry in value if isinstance(value, tuple) else (value,):
                        flat.append(entry.tolist() if isinstance(entry, library.Tensor) else entry)
                seen.append((name, type(module).__name__, flat))

            return hook

        model = nn.Sequential(nn.Linear(2, 3), nn.Tanh())
        for layer in (*model, model):
            layer.register_forward_pre_hook(record("before"))
            layer.register_forward_hook(record("after"))
            layer.register_full_backward_hook(record("backward"))
            layer.register_full_backward_pre_hook(record("before backward"))
        model[1].register_forward_pre_hook(lambda module, args: args[0] * 2)
        model[0].register_full_backward_hook(lambda module, into, out: (into[0] * 3,))
        x = library.randn(4, 2, requires_grad=True)
        model(x).sum().backward()
        return seen, x.grad.tolist()

    ours, theirs = both(run)
    assert [entry[:2] for entry in ours[0]] == [entry[:2] for entry in theirs[0]]
    for (_, _, mine), (_, _, reference) in zip(ours[0], theirs[0], strict=True):
        for a, b in zip(mine, reference, strict=True):
            close(a, b)
    close(ours[1], theirs[1])


def test_clipping():
    def run(library):
        parameters = [library.nn.Parameter(library.randn(3, 2)) for _ in range(3)]
        results = []
        for clip in (
            lambda: library.nn.utils.clip_grad_norm_(parameters, 0.5),
            lambda: library.nn.utils.clip_grad_norm_(parameters, 0.5, float("inf")),
            lambda: library.nn.utils.clip_grad_norm_(parameters, 100.0, 1),
            lambda: library.nn.utils.clip_grad_value_(parameters, 0.3),
            lambda: library.nn.utils.clip_grads_with_norm_(parameters, 0.3, library.tensor(2.0)),
        ):
            for parameter in parameters[:2]:
                parameter.grad = library.randn(3, 2)
            norm = clip()
            results += [p.grad for p in parameters[:2]]
            if norm is not None:
                results.append(norm)
        vector = library.nn.utils.parameters_to_vector(parameters)
        library.nn.utils.vector_to_parameters(vector * 2, parameters)
        return [*results, vector, *parameters]

    for ours, theirs in zip(*both(run), strict=True):
        close(ours, theirs)


# --- signatures -----------------------------------------------------------------------------------


def parameters(function):
    signature = inspect.signature(function)
    return [(p.name, p.kind, p.default) for p in signature.parameters.values()]


def shared_classes(room, reference):
    """Public classes of a room that torch has too, by name."""
    return [
        name for name in dir(room)
        if isinstance(getattr(room, name), type) and hasattr(reference, name)
        and not name.startswith("_")
    ]  # fmt: skip


def is_hidden(parameters):
    """Whether torch wraps what it deprecates, so that its parameters cannot be seen."""
    return [p[:2] for p in parameters] == [
        ("args", inspect.Parameter.VAR_POSITIONAL), ("kwargs", inspect.Parameter.VAR_KEYWORD),
    ]  # fmt: skip


@pytest.mark.parametrize("name", [
    name for name in shared_classes(numbagrad.nn, torch.nn)
    if not is_hidden(parameters(getattr(torch.nn, name)))
])  # fmt: skip
def test_signatures_of_layers(name):
    ours, theirs = getattr(numbagrad.nn, name), getattr(torch.nn, name)
    mine, reference = parameters(ours), parameters(theirs)
    for own, other in zip(mine, reference, strict=True):
        if callable(other[2]):  # a function of the library, as the default
            own, other = own[:2], other[:2]
        assert own == other


def has_signature(name):
    """Whether torch's function is written in Python, so that its parameters can be seen."""
    try:
        found = parameters(getattr(torch.nn.functional, name))
    except ValueError:
        return False
    return found and found[0][0] != "args"


@pytest.mark.parametrize("name", [
    name for name in dir(numbagrad.nn.functional)
    if callable(getattr(numbagrad.nn.functional, name)) and hasattr(torch.nn.functional, name)
    and name not in ("softmax", "softmin", "log_softmax", "sigmoid", "tanh") and has_signature(name)
])  # fmt: skip
def test_signatures_of_functions(name):
    def seen(library):
        return [p[:3] for p in parameters(getattr(library.nn.functional, name))]

    ours, theirs = seen(numbagrad), seen(torch)
    assert [p[:2] for p in ours] == [p[:2] for p in theirs]
    for own, other in zip(ours, theirs, strict=True):
        assert own[2] == other[2] or name.startswith(("conv", "avg_pool"))


@pytest.mark.parametrize("name", [name for name in torch.nn.init.__all__ if name.endswith("_")])
def test_signatures_of_initial_values(name):
    assert parameters(getattr(numbagrad.nn.init, name)) == parameters(getattr(torch.nn.init, name))


MODULE_METHODS = [
    name for name in dir(torch.nn.Module)
    if not name.startswith("_") and callable(getattr(torch.nn.Module, name))
    and name not in ("bfloat16", "compile", "ipu", "mtia", "xpu", "forward")
]  # fmt: skip


@pytest.mark.parametrize("name", MODULE_METHODS)
def test_signatures_of_modules(name):
    ours, theirs = getattr(numbagrad.nn.Module, name), getattr(torch.nn.Module, name)
    assert parameters(ours) == parameters(theirs)


def test_states_of_and_for_the_device_meta():
    found = []
    for lib in (numbagrad, torch):
        layer = lib.nn.Linear(2, 2, device="meta")
        with pytest.warns(UserWarning, match="which is a no-op") as warned:
            layer.load_state_dict(lib.nn.Linear(2, 2).state_dict())
        with pytest.raises(RuntimeError, match="Cannot copy out of meta tensor; no data!") as error:
            lib.nn.Linear(2, 2).load_state_dict(layer.state_dict())
        lines = [line.partition("an exception")[0] for line in str(error.value).split("\n")]
        found.append(([str(each.message) for each in warned], lines))
    assert found[0] == found[1]
