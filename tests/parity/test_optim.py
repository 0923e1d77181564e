"""Optimizers and schedulers against live torch: fifty steps from one seed, rates, text."""

import types
import warnings

import numpy as np
import pytest
import torch

import numbagrad

OPTIMIZERS = {
    "sgd": ("SGD", {"lr": 0.1}),
    "sgd decay": ("SGD", {"lr": 0.1, "weight_decay": 0.01}),
    "sgd maximize": ("SGD", {"lr": 0.01, "maximize": True}),
    "momentum": ("SGD", {"lr": 0.05, "momentum": 0.9, "dampening": 0.1}),
    "nesterov": ("SGD", {"lr": 0.05, "momentum": 0.9, "nesterov": True, "weight_decay": 0.01}),
    "adam": ("Adam", {"lr": 0.05}),
    "adam decay": ("Adam", {"lr": 0.05, "weight_decay": 0.1, "betas": (0.8, 0.99)}),
    "amsgrad": ("Adam", {"lr": 0.05, "amsgrad": True}),
    "slow adam": ("Adam", {"lr": 0.05, "betas": (0.3, 0.5)}),
    "adamw": ("AdamW", {"lr": 0.05, "weight_decay": 0.1}),
    "adamw amsgrad": ("AdamW", {"lr": 0.05, "amsgrad": True, "maximize": True}),
    "rmsprop": ("RMSprop", {"lr": 0.01}),
    "rmsprop centered": ("RMSprop", {"lr": 0.01, "centered": True, "weight_decay": 0.01}),
    "rmsprop momentum": ("RMSprop", {"lr": 0.001, "momentum": 0.9}),
    "rmsprop both": ("RMSprop", {"lr": 0.01, "momentum": 0.5, "centered": True}),
    "adagrad": ("Adagrad", {"lr": 0.1}),
    "adagrad decay": ("Adagrad", {"lr": 0.1, "lr_decay": 0.1, "weight_decay": 0.01,
                                  "initial_accumulator_value": 0.1}),
    "adadelta": ("Adadelta", {}),
    "adadelta decay": ("Adadelta", {"lr": 0.5, "rho": 0.8, "weight_decay": 0.01}),
    "adamax": ("Adamax", {"lr": 0.05}),
    "adamax decay": ("Adamax", {"lr": 0.05, "weight_decay": 0.1, "betas": (0.8, 0.99)}),
    "nadam": ("NAdam", {"lr": 0.05}),
    "nadam decay": ("NAdam", {"lr": 0.05, "weight_decay": 0.1, "momentum_decay": 0.1}),
    "nadam decoupled": ("NAdam", {"lr": 0.05, "weight_decay": 0.1, "maximize": True,
                                  "decoupled_weight_decay": True}),
    "radam": ("RAdam", {"lr": 0.05}),
    "radam decay": ("RAdam", {"lr": 0.05, "weight_decay": 0.1, "betas": (0.8, 0.9)}),
    "radam decoupled": ("RAdam", {"lr": 0.05, "weight_decay": 0.1,
                                  "decoupled_weight_decay": True}),
    "radam of few squares": ("RAdam", {"lr": 0.05, "betas": (0.9, 0.5)}),
    "asgd": ("ASGD", {"lr": 0.1}),
    "asgd mean": ("ASGD", {"lr": 0.1, "t0": 10, "lambd": 0.1, "weight_decay": 0.01}),
    "rprop": ("Rprop", {"lr": 0.01}),
    "rprop bounds": ("Rprop", {"lr": 0.01, "etas": (0.3, 1.5), "step_sizes": (0.005, 0.05)}),
    "adafactor": ("Adafactor", {"lr": 0.05}),
    "adafactor decay": ("Adafactor", {"lr": 0.1, "eps": (1e-3, 1e-2), "d": 1.5, "beta2_decay": -0.5,
                                      "weight_decay": 0.1, "maximize": True}),
    "muon": ("Muon", {"lr": 0.05}),
    "muon as adamw": ("Muon", {"lr": 0.02, "nesterov": False, "weight_decay": 0.0, "momentum": 0.8,
                               "ns_steps": 4, "adjust_lr_fn": "match_rms_adamw"}),
    "lbfgs": ("LBFGS", {"lr": 0.1, "max_iter": 4}),
    "lbfgs wolfe": ("LBFGS", {"line_search_fn": "strong_wolfe", "max_iter": 4}),
}  # fmt: skip


def network(library):
    """A small network and data, the same in both libraries."""
    library.manual_seed(7)
    nn = library.nn
    model = nn.Sequential(nn.Linear(5, 16), nn.Tanh(), nn.Linear(16, 3))
    return model, library.randn(12, 5), library.randn(12, 3)


def train(library, name, options, steps=50, dtype="float32"):
    """Losses of some steps, and the optimizer."""
    model, x, y = network(library)
    kind = getattr(library, dtype)
    model.to(kind)
    x, y = x.to(kind), y.to(kind)
    parameters = [p for p in model.parameters() if name != "Muon" or p.dim() == 2]
    optimizer = getattr(library.optim, name)(parameters, **options)
    losses = []

    def closure():
        optimizer.zero_grad()
        loss = library.nn.functional.mse_loss(model(x), y)
        loss.backward()
        return loss

    for _ in range(steps):
        losses.append(optimizer.step(closure).item())
    return losses, optimizer, model


@pytest.mark.parametrize("case", OPTIMIZERS)
def test_losses_follow_those_of_torch(case):
    name, options = OPTIMIZERS[case]
    ours, _, model = train(numbagrad, name, options)
    theirs, _, reference = train(torch, name, options)
    # Rounding grows where steps are divided by small roots, and most where they are extrapolated.
    tolerance = {
        "lbfgs": 5e-3, "lbfgs wolfe": 5e-3, "slow adam": 5e-3, "adafactor": 3e-2, "muon": 3e-2,
    }.get(case, 2e-5)  # fmt: skip
    assert len(ours) == 50
    assert ours == pytest.approx(theirs, rel=tolerance, abs=1e-5)
    if name not in ("LBFGS", "Adafactor", "Muon"):
        apart = 1e-2 if case == "slow adam" else 1e-3
        for a, b in zip(model.parameters(), reference.parameters(), strict=True):
            torch.testing.assert_close(
                torch.from_numpy(a.detach().numpy()), b.detach(), rtol=1e-3, atol=apart
            )


@pytest.mark.parametrize("case", OPTIMIZERS)
def test_in_double_losses_agree_closely(case):
    name, options = OPTIMIZERS[case]
    ours, _, _ = train(numbagrad, name, options, dtype="float64")
    theirs, _, _ = train(torch, name, options, dtype="float64")
    assert ours == pytest.approx(theirs, rel=1e-8)


@pytest.mark.parametrize("case", OPTIMIZERS)
def test_text_and_state_have_the_same_entries(case):
    name, options = OPTIMIZERS[case]
    _, ours, _ = train(numbagrad, name, options, steps=2)
    _, theirs, _ = train(torch, name, options, steps=2)
    assert repr(ours) == repr(theirs)
    a, b = ours.state_dict(), theirs.state_dict()
    assert a["param_groups"] == b["param_groups"]
    assert a["state"].keys() == b["state"].keys()
    if name == "LBFGS":
        return
    for number, state in b["state"].items():
        assert a["state"][number].keys() == state.keys()
        for key, value in state.items():
            own = a["state"][number][key]
            torch.testing.assert_close(torch.from_numpy(own.numpy()), value, rtol=1e-4, atol=1e-5)


def double_gamma(step):
    return 0.9**step


SCHEDULERS = {
    "step": ("StepLR", {"step_size": 3, "gamma": 0.5}),
    "milestones": ("MultiStepLR", {"milestones": [2, 5, 5, 11], "gamma": 0.3}),
    "exponential": ("ExponentialLR", {"gamma": 0.8}),
    "constant": ("ConstantLR", {"factor": 0.5, "total_iters": 4}),
    "linear": ("LinearLR", {"start_factor": 0.3, "total_iters": 6}),
    "linear down": ("LinearLR", {"start_factor": 1.0, "end_factor": 0.2, "total_iters": 6}),
    "polynomial": ("PolynomialLR", {"total_iters": 7, "power": 2.0}),
    "cosine": ("CosineAnnealingLR", {"T_max": 6, "eta_min": 0.01}),
    "restarts": ("CosineAnnealingWarmRestarts", {"T_0": 3, "T_mult": 2, "eta_min": 0.001}),
    "lambda": ("LambdaLR", {"lr_lambda": double_gamma}),
    "multiplicative": ("MultiplicativeLR", {"lr_lambda": double_gamma}),
    "cyclic": ("CyclicLR", {"base_lr": 0.01, "max_lr": 0.2, "step_size_up": 4}),
    "cyclic halves": ("CyclicLR", {"base_lr": 0.01, "max_lr": 0.2, "step_size_up": 2,
                                   "step_size_down": 3, "mode": "triangular2"}),
    "cyclic range": ("CyclicLR", {"base_lr": 0.01, "max_lr": 0.2, "step_size_up": 3,
                                  "mode": "exp_range", "gamma": 0.9}),
    "one cycle": ("OneCycleLR", {"max_lr": 0.3, "total_steps": 20}),
    "one cycle linear": ("OneCycleLR", {"max_lr": 0.3, "epochs": 4, "steps_per_epoch": 5,
                                        "anneal_strategy": "linear", "three_phase": True}),
}  # fmt: skip


def rates(library, name, options, steps=18):
    """Rate and momentum at every step."""
    parameter = library.nn.Parameter(library.zeros(3))
    optimizer = library.optim.SGD([parameter], lr=0.1, momentum=0.9)
    scheduler = getattr(library.optim.lr_scheduler, name)(optimizer, **options)
    found = []
    for _ in range(steps):
        optimizer.step()
        group = optimizer.param_groups[0]
        found += [group["lr"], group["momentum"], *scheduler.get_last_lr()]
        scheduler.step()
    return found, scheduler


@pytest.mark.parametrize("case", SCHEDULERS)
def test_rates_follow_those_of_torch(case):
    ours, _ = rates(numbagrad, *SCHEDULERS[case])
    theirs, _ = rates(torch, *SCHEDULERS[case])
    assert ours == pytest.approx(theirs, rel=1e-12)


@pytest.mark.parametrize("case", ["step", "milestones", "exponential", "linear", "cosine"])
def test_rates_of_a_given_step(case):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _, ours = rates(numbagrad, *SCHEDULERS[case], steps=3)
        _, theirs = rates(torch, *SCHEDULERS[case], steps=3)
        ours.step(9)
        theirs.step(9)
    assert ours.get_last_lr() == pytest.approx(theirs.get_last_lr())


@pytest.mark.parametrize("options", [
    {}, {"mode": "max"}, {"threshold_mode": "abs", "threshold": 0.2}, {"cooldown": 2},
    {"min_lr": 0.03, "factor": 0.5},
])  # fmt: skip
def test_plateau(options):
    metrics = [1.0, 0.9, 0.95, 0.94, 0.93, 0.92, 0.91, 0.9, 0.95, 1.2, 1.3, 1.2, 1.1, 1.0, 1.5]

    def run(library):
        optimizer = library.optim.SGD([library.nn.Parameter(library.zeros(3))], lr=0.1)
        scheduler = library.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=2, **options)
        found = []
        for metric in metrics:
            scheduler.step(metric)
            found += scheduler.get_last_lr()
        return found

    assert run(numbagrad) == pytest.approx(run(torch))


def test_schedulers_of_schedulers():
    def run(library):
        schedule = library.optim.lr_scheduler
        found = []
        optimizer = library.optim.SGD([library.nn.Parameter(library.zeros(3))], lr=0.1)
        first = schedule.ConstantLR(optimizer, 0.1, 2)
        second = schedule.ExponentialLR(optimizer, 0.9)
        sequence = schedule.SequentialLR(optimizer, [first, second], [3])
        for _ in range(8):
            optimizer.step()
            sequence.step()
            found += sequence.get_last_lr()
        optimizer = library.optim.SGD([library.nn.Parameter(library.zeros(3))], lr=0.1)
        chain = schedule.ChainedScheduler(
            [schedule.ConstantLR(optimizer, 0.1, 2), schedule.ExponentialLR(optimizer, 0.9)]
        )
        for _ in range(8):
            optimizer.step()
            chain.step()
            found += chain.get_last_lr()
        return found

    assert run(numbagrad) == pytest.approx(run(torch))


BAD = [
    lambda lib, p: lib.optim.SGD(p, lr=-1.0),
    lambda lib, p: lib.optim.SGD(p, momentum=-1),
    lambda lib, p: lib.optim.SGD(p, nesterov=True),
    lambda lib, p: lib.optim.Adam(p, betas=(1.0, 0.5)),
    lambda lib, p: lib.optim.Adam(p, eps=-1.0),
    lambda lib, p: lib.optim.RMSprop(p, alpha=-1.0),
    lambda lib, p: lib.optim.Adagrad(p, lr_decay=-1.0),
    lambda lib, p: lib.optim.Adadelta(p, rho=2.0),
    lambda lib, p: lib.optim.Adamax(p, betas=(0.5, 1.0)),
    lambda lib, p: lib.optim.NAdam(p, momentum_decay=-1.0),
    lambda lib, p: lib.optim.RAdam(p, eps=-1.0),
    lambda lib, p: lib.optim.ASGD(p, weight_decay=-1.0),
    lambda lib, p: lib.optim.Rprop(p, etas=(1.5, 2.0)),
    lambda lib, p: lib.optim.Adafactor(p, lr=-1.0),
    lambda lib, p: lib.optim.Adafactor(p, beta2_decay=0.5),
    lambda lib, p: lib.optim.Adafactor(p, eps=(-1.0, 1.0)),
    lambda lib, p: lib.optim.Adafactor(p, eps=(None, -1.0)),
    lambda lib, p: lib.optim.Adafactor(p, d=0.5),
    lambda lib, p: lib.optim.Adafactor(p, weight_decay=-0.5),
    lambda lib, p: lib.optim.Muon(p),
    lambda lib, p: lib.optim.Muon(p, lr=-1.0),
    lambda lib, p: lib.optim.Muon(p, momentum=-1.0),
    lambda lib, p: lib.optim.Muon(p, weight_decay=-1.0),
    lambda lib, p: lib.optim.Muon(p, adjust_lr_fn="more"),
    lambda lib, p: lib.optim.SGD([]),
    lambda lib, p: lib.optim.SGD(p[0]),
    lambda lib, p: lib.optim.SGD([1.0]),
    lambda lib, p: lib.optim.SGD([{"params": set(p)}]),
    lambda lib, p: lib.optim.SGD([p[0] * 2]),
    lambda lib, p: lib.optim.SGD([{"params": p}, {"params": p}]),
    lambda lib, p: lib.optim.SGD([("a", p[0]), p[0]]),
    lambda lib, p: lib.optim.LBFGS([{"params": p}, {"params": [lib.zeros(1)]}]),
    lambda lib, p: lib.optim.SGD(p).load_state_dict({"state": {}, "param_groups": []}),
    lambda lib, p: lib.optim.lr_scheduler.StepLR(3, 1),
    lambda lib, p: lib.optim.lr_scheduler.LambdaLR(lib.optim.SGD(p), [abs, abs]),
    lambda lib, p: lib.optim.lr_scheduler.OneCycleLR(lib.optim.SGD(p), 0.1),
    lambda lib, p: lib.optim.lr_scheduler.LinearLR(lib.optim.SGD(p), 2.0),
    lambda lib, p: lib.optim.lr_scheduler.ReduceLROnPlateau(lib.optim.SGD(p), "mean"),
]


@pytest.mark.parametrize("number", range(len(BAD)))
def test_errors_have_the_text_of_torch(number):
    found = []
    for library in (numbagrad, torch):
        parameters = [library.nn.Parameter(library.ones(2))]
        with pytest.raises(Exception) as caught:  # noqa: PT011
            BAD[number](library, parameters)
        found.append((caught.type, str(caught.value)))
    assert found[0] == found[1]


def _replace_by_a_method(optimizer):
    optimizer.step = types.MethodType(lambda self: None, optimizer)


def _replace_by_one_that_calls_the_first(optimizer):
    optimizer.step = types.MethodType(lambda self: type(self).step(self), optimizer)


def _keep(optimizer):
    pass


@pytest.mark.parametrize("replace", [
    _keep, _replace_by_a_method, _replace_by_one_that_calls_the_first,
])  # fmt: skip
@pytest.mark.parametrize("when", ["before the scheduler", "after the scheduler"])
@pytest.mark.parametrize("steps", [False, True])
def test_warnings_about_the_order_of_steps(replace, when, steps):
    """A replaced ``step`` is told from one that was not called, for two schedulers of one."""
    told = []
    for library in (numbagrad, torch):
        optimizer = library.optim.SGD([library.nn.Parameter(library.ones(2))], lr=0.1)
        if when == "before the scheduler":
            replace(optimizer)
        first = library.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)
        second = library.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
        if when == "after the scheduler":
            replace(optimizer)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            if steps:
                optimizer.step()
            first.step()
            second.step()
            first.step()
        told.append([(str(warning.message), warning.category) for warning in caught])
    assert told[0] == told[1]


#: Options whose state is computed otherwise for complex parameters, which are pairs of real ones.
COMPLEX = [
    ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True}),
    ("Adagrad", {"lr": 0.1, "initial_accumulator_value": 0.1}),
    ("Adam", {"amsgrad": True}),
    ("AdamW", {"amsgrad": True}),
    ("Adamax", {}),
    ("NAdam", {}),
    ("RAdam", {}),
    ("RMSprop", {"centered": True, "momentum": 0.9}),
    ("Rprop", {}),
    ("ASGD", {}),
    ("Adadelta", {}),
]


@pytest.mark.parametrize(("name", "options"), COMPLEX, ids=[name for name, _ in COMPLEX])
def test_a_complex_parameter_is_updated_as_a_pair_of_real_ones(name, options):
    draws = np.random.default_rng(0).normal(size=(5, 3, 2)).astype(np.float32)
    values = draws.view(np.complex64)[..., 0]
    found = []
    for library in (torch, numbagrad):
        parameter = library.tensor(values[0]).requires_grad_()
        optimizer = getattr(library.optim, name)([parameter], **options)
        for gradient in values[1:]:
            parameter.grad = library.tensor(gradient)
            optimizer.step()
        found.append(parameter.detach().numpy())
    np.testing.assert_allclose(found[1], found[0], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("other", ["foreach", "differentiable"])
@pytest.mark.parametrize("name", ["Adagrad", "Adam", "AdamW", "SGD"])
def test_choices_that_exclude_each_other(name, other):
    texts = []
    for lib in (numbagrad, torch):
        weight = lib.zeros(2, requires_grad=True)
        with pytest.raises(RuntimeError) as raised:
            getattr(lib.optim, name)([weight], lr=0.1, fused=True, **{other: True})
        texts.append(str(raised.value))
    assert texts[0] == texts[1]
