"""Parametrized weights beside torch: values, training, states, text, errors."""

import copy
import warnings

import pytest
import torch
from parity_tools import both, close, message

import numbagrad

NORMS = {
    "weight": lambda nn: nn.utils.parametrizations.weight_norm(nn.Linear(4, 3)),
    "weight as a whole": lambda nn: nn.utils.parametrizations.weight_norm(
        nn.Linear(4, 3), dim=None
    ),
    "weight of columns": lambda nn: nn.utils.parametrizations.weight_norm(nn.Linear(4, 3), dim=1),
    "weight of kernels": lambda nn: nn.utils.parametrizations.weight_norm(nn.Conv1d(4, 3, 2)),
    "spectral": lambda nn: nn.utils.parametrizations.spectral_norm(nn.Linear(4, 3)),
    "spectral, transposed": lambda nn: nn.utils.parametrizations.spectral_norm(
        nn.ConvTranspose1d(4, 3, 2), n_power_iterations=3
    ),
    "spectral of a vector": lambda nn: nn.utils.parametrizations.spectral_norm(
        nn.Linear(4, 3), "bias"
    ),
    "orthogonal, square": lambda nn: nn.utils.parametrizations.orthogonal(nn.Linear(4, 4)),
    "orthogonal, wide": lambda nn: nn.utils.parametrizations.orthogonal(nn.Linear(4, 3)),
    "orthogonal, Cayley": lambda nn: nn.utils.parametrizations.orthogonal(
        nn.Linear(4, 6), orthogonal_map="cayley"
    ),
    "orthogonal, no base": lambda nn: nn.utils.parametrizations.orthogonal(
        nn.Linear(4, 6), use_trivialization=False
    ),
    "old weight": lambda nn: nn.utils.weight_norm(nn.Linear(4, 3)),
    "old weight as a whole": lambda nn: nn.utils.weight_norm(nn.Linear(4, 3), dim=None),
    "old spectral": lambda nn: nn.utils.spectral_norm(nn.Linear(4, 3), n_power_iterations=2),
    "old spectral, transposed": lambda nn: nn.utils.spectral_norm(nn.ConvTranspose1d(4, 3, 2)),
}


def agree(ours, theirs):
    assert list(ours) == list(theirs)
    for name, value in theirs.items():
        close(ours[name], value, atol=1e-5)


def input_of(library, layer):
    return library.randn(5, 4) if "Linear" in type(layer).__name__ else library.randn(5, 4, 6)


@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.parametrize("case", NORMS)
def test_training_follows_torch(case):
    def run(library):
        layer = NORMS[case](library.nn)
        x = input_of(library, layer)
        optimizer = library.optim.SGD(layer.parameters(), lr=0.1)
        found = {}
        for step in range(4):
            optimizer.zero_grad()
            loss = layer(x).pow(2).mean()
            loss.backward()
            optimizer.step()
            found[f"loss {step}"] = loss
        found["weight"] = layer.weight
        layer.eval()
        found["eval"] = layer(x)
        names = [name for name, _ in layer.named_parameters()]
        return repr(layer), names, {**found, **layer.state_dict()}

    ours, theirs = both(run)
    assert ours[:2] == theirs[:2]
    agree(ours[2], theirs[2])


@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.parametrize("name", ["weight_norm", "spectral_norm"])
@pytest.mark.parametrize("old", [False, True])
def test_removed_again(name, old):
    def run(library):
        utils = library.nn.utils
        layer = library.nn.Linear(4, 3)
        if old:
            getattr(utils, name)(layer)
            getattr(utils, f"remove_{name}")(layer)
        else:
            getattr(utils.parametrizations, name)(layer)
            utils.parametrize.remove_parametrizations(layer, "weight")
        kinds = {key: type(value).__name__ for key, value in layer.named_parameters()}
        return repr(layer), kinds, layer.state_dict()

    ours, theirs = both(run)
    assert ours[:2] == theirs[:2]
    agree(ours[2], theirs[2])


def test_states_of_the_old_hook_load():
    def run(library):
        utils = library.nn.utils
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            state = utils.weight_norm(library.nn.Linear(4, 3)).state_dict()
        layer = utils.parametrizations.weight_norm(library.nn.Linear(4, 3))
        text = str(layer.load_state_dict(state))
        return text, {"weight": layer.weight, **layer.state_dict()}

    ours, theirs = both(run)
    assert ours[0] == theirs[0]
    agree(ours[1], theirs[1])


def modules(library):
    """Parametrizations of every kind."""

    class Symmetric(library.nn.Module):
        def forward(self, X):
            return X.triu() + X.triu(1).mT

        def right_inverse(self, A):
            return A.triu()

    class Double(library.nn.Module):
        def forward(self, X):
            return X * 2

    class Product(library.nn.Module):
        def forward(self, a, b):
            return a @ b

        def right_inverse(self, X):
            return X[:, :1] * 1, X[:1] * 1

    return Symmetric, Double, Product


def test_registered_assigned_copied_and_left():
    def run(library):
        parametrize = library.nn.utils.parametrize
        Symmetric, Double, Product = modules(library)
        layer = library.nn.Linear(3, 3)
        kept = layer.weight
        parametrize.register_parametrization(layer, "weight", Symmetric())
        texts = [repr(layer)]
        values = {"one": layer.weight}
        parametrize.register_parametrization(layer, "weight", Double())
        values["two"] = layer.weight
        texts += [repr(layer), parametrize.is_parametrized(layer, "bias")]
        texts.append(layer.parametrizations.weight.original is kept)
        texts.append(parametrize.type_before_parametrizations(layer).__name__)
        twin = copy.deepcopy(layer)
        values["copy"] = twin.weight
        layer(library.ones(1, 3)).sum().backward()
        values["gradient"] = kept.grad
        other = library.nn.Linear(3, 3)
        parametrize.transfer_parametrizations_and_params(layer, other)
        values |= {f"other {key}": value for key, value in other.state_dict().items()}
        parametrize.remove_parametrizations(layer, "weight", leave_parametrized=False)
        texts += [repr(layer), layer.weight is kept]
        values |= layer.state_dict()
        several = parametrize.register_parametrization(library.nn.Linear(3, 3), "weight", Product())
        several.weight = library.ones(3, 3) * 4
        values |= {f"several {key}": value for key, value in several.state_dict().items()}
        values["several"] = several.weight
        norm = library.nn.BatchNorm1d(3)
        parametrize.register_parametrization(norm, "running_mean", Double())
        values["buffer"] = norm.running_mean
        return [*texts, list(norm.state_dict())], values

    ours, theirs = both(run)
    assert ours[0] == theirs[0]
    agree(ours[1], theirs[1])


def wrong(library, forward=None, inverse=None):
    """A parametrization of a linear layer's weight that returns what it should not."""
    members = {}
    if forward:
        members["forward"] = lambda self, *x: forward(*x)
    if inverse:
        members["right_inverse"] = lambda self, x: inverse(x)
    return type("Wrong", (library.nn.Module,), members)()


def registered(library, *parametrizations):
    layer = library.nn.Linear(3, 3)
    for each in parametrizations:
        library.nn.utils.parametrize.register_parametrization(layer, "weight", each)
    return layer


def same(x):
    return x


ERRORS = [
    lambda lib: registered(lib, wrong(lib, lambda x: 3)),
    lambda lib: registered(lib, wrong(lib, lambda x: x.double())),
    lambda lib: registered(lib, wrong(lib, lambda x: x[0])),
    lambda lib: registered(lib, wrong(lib, same), wrong(lib, lambda x: 3)),
    lambda lib: registered(lib, wrong(lib, same), wrong(lib, lambda x: x.double())),
    lambda lib: registered(lib, wrong(lib, same), wrong(lib, lambda x: x[0])),
    lambda lib: registered(lib, wrong(lib, same), wrong(lib, same, lambda x: 3)),
    lambda lib: registered(lib, wrong(lib, same), wrong(lib, same, lambda x: x.double())),
    lambda lib: registered(lib, wrong(lib, same), wrong(lib, same, lambda x: x[0])),
    lambda lib: registered(lib, wrong(lib, same, lambda x: 3)),
    lambda lib: registered(lib, wrong(lib, same, lambda x: x.double())),
    lambda lib: registered(lib, wrong(lib, same, lambda x: (x, 3))),
    lambda lib: setattr(registered(lib, wrong(lib, same)), "weight", lib.ones(3, 3)),
    lambda lib: setattr(registered(lib, wrong(lib, same, same)), "weight", lib.ones(3, 3).double()),
    lambda lib: lib.nn.utils.parametrize.register_parametrization(
        lib.nn.Linear(1, 1), "height", lib.nn.Identity()
    ),
    lambda lib: lib.nn.utils.parametrize.remove_parametrizations(lib.nn.Linear(1, 1), "weight"),
    lambda lib: lib.nn.utils.parametrize.remove_parametrizations(
        lib.nn.utils.parametrizations.weight_norm(lib.nn.Linear(1, 1)), "weight", False
    ),
    lambda lib: lib.nn.utils.parametrize.ParametrizationList([], lib.ones(1)),
    lambda lib: lib.nn.utils.parametrizations.spectral_norm(lib.nn.Linear(1, 1), "height"),
    lambda lib: lib.nn.utils.parametrizations.spectral_norm(lib.nn.Linear(1, 1), dim=2),
    lambda lib: lib.nn.utils.parametrizations.spectral_norm(
        lib.nn.Linear(1, 1), n_power_iterations=0
    ),
    lambda lib: lib.nn.utils.spectral_norm(lib.nn.Linear(1, 1), n_power_iterations=0),
    lambda lib: lib.nn.utils.spectral_norm(lib.nn.Linear(1, 1, bias=False), "bias"),
    lambda lib: lib.nn.utils.spectral_norm(lib.nn.utils.spectral_norm(lib.nn.Linear(1, 1))),
    lambda lib: lib.nn.utils.weight_norm(lib.nn.utils.weight_norm(lib.nn.Linear(1, 1))),
    lambda lib: lib.nn.utils.remove_weight_norm(lib.nn.Linear(1, 1)),
    lambda lib: lib.nn.utils.remove_spectral_norm(lib.nn.Linear(1, 1)),
    lambda lib: lib.nn.utils.parametrizations.weight_norm(lib.nn.Linear(1, 1)).__getstate__(),
]


@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.parametrize("number", range(len(ERRORS)))
def test_errors_have_the_text_of_torch(number):
    assert message(numbagrad, ERRORS[number]) == message(torch, ERRORS[number])


@pytest.mark.parametrize(
    "call",
    [
        lambda nn, orthogonal: orthogonal(nn.Linear(4, 3), "bias"),
        lambda nn, orthogonal: orthogonal(nn.Linear(4, 3), "nothing"),
        lambda nn, orthogonal: orthogonal(nn.Linear(4, 3), orthogonal_map="qr"),
        lambda nn, orthogonal: setattr(
            orthogonal(nn.Linear(4, 3)), "weight", nn.Linear(3, 4).weight
        ),
        lambda nn, orthogonal: setattr(
            orthogonal(nn.Linear(4, 4), use_trivialization=False), "weight", nn.Linear(4, 4).weight
        ),
    ],
)
def test_errors_of_orthogonal_are_those_of_torch(call):
    def said(library):
        return message(library, lambda t: call(t.nn, t.nn.utils.parametrizations.orthogonal))

    assert said(numbagrad) == said(torch)
