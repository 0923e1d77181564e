"""Recurrent layers and cells without torch: plain loops in NumPy, gradients, shapes."""

import numpy as np
import pytest

import numbagrad as ng
from numbagrad import nn
from numbagrad.autograd import gradcheck, gradgradcheck


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def weights_of(layer):
    return [parameter.detach().numpy() for parameter in layer.parameters()]


def elman(layer, x):
    w_ih, w_hh, b_ih, b_hh = weights_of(layer)
    h, outputs = np.zeros((x.shape[1], layer.hidden_size)), []
    for step in x:
        h = np.tanh(step @ w_ih.T + b_ih + h @ w_hh.T + b_hh)
        outputs.append(h)
    return np.stack(outputs)


def lstm(layer, x):
    w_ih, w_hh, b_ih, b_hh = weights_of(layer)
    h = c = np.zeros((x.shape[1], layer.hidden_size))
    outputs = []
    for step in x:
        i, f, g, o = np.split(step @ w_ih.T + b_ih + h @ w_hh.T + b_hh, 4, axis=1)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
        outputs.append(h)
    return np.stack(outputs)


def gru(layer, x):
    w_ih, w_hh, b_ih, b_hh = weights_of(layer)
    h, outputs = np.zeros((x.shape[1], layer.hidden_size)), []
    for step in x:
        xr, xz, xn = np.split(step @ w_ih.T + b_ih, 3, axis=1)
        hr, hz, hn = np.split(h @ w_hh.T + b_hh, 3, axis=1)
        z = sigmoid(xz + hz)
        h = (1 - z) * np.tanh(xn + sigmoid(xr + hr) * hn) + z * h
        outputs.append(h)
    return np.stack(outputs)


@pytest.mark.parametrize("kind, reference", [(nn.RNN, elman), (nn.LSTM, lstm), (nn.GRU, gru)])
def test_layers_are_loops(kind, reference):
    ng.manual_seed(0)
    layer = kind(3, 5).double()
    x = ng.randn(6, 2, 3, dtype=ng.float64)
    outputs, _ = layer(x)
    np.testing.assert_allclose(outputs.detach().numpy(), reference(layer, x.numpy()), rtol=1e-12)


@pytest.mark.parametrize("kind", [nn.RNN, nn.LSTM, nn.GRU])
def test_gradients(kind):
    ng.manual_seed(0)
    layer = kind(2, 3, 2, bidirectional=True).double()
    x = ng.randn(3, 2, 2, dtype=ng.float64, requires_grad=True)
    inputs = (x, *layer.parameters())
    assert gradcheck(lambda *_: layer(x)[0], inputs)
    assert gradgradcheck(lambda x: layer(x)[0], (x,))


def test_shapes():
    layer = nn.LSTM(3, 4, num_layers=2, bidirectional=True, batch_first=True, proj_size=2)
    outputs, (hidden, cell) = layer(ng.randn(5, 7, 3))
    assert (outputs.shape, hidden.shape, cell.shape) == ((5, 7, 4), (4, 5, 2), (4, 5, 4))
    outputs, (hidden, cell) = layer(ng.randn(7, 3))
    assert (outputs.shape, hidden.shape, cell.shape) == ((7, 4), (4, 2), (4, 4))
    assert [len(weights) for weights in layer.all_weights] == [5] * 4


def test_the_last_output_is_the_state():
    ng.manual_seed(0)
    layer = nn.GRU(3, 4, bidirectional=True)
    outputs, hidden = layer(ng.randn(6, 2, 3))
    assert outputs[-1, :, :4].tolist() == hidden[0].tolist()
    assert outputs[0, :, 4:].tolist() == hidden[1].tolist()


def test_dropout_lies_between_layers_in_training_only():
    ng.manual_seed(0)
    layer = nn.RNN(3, 4, 2, dropout=0.9)
    x = ng.randn(5, 1, 3)
    assert layer(x)[0].tolist() != layer(x)[0].tolist()
    layer.eval()
    assert layer(x)[0].tolist() == layer(x)[0].tolist()
    with pytest.warns(UserWarning, match="dropout option adds dropout after all but last"):
        nn.RNN(3, 4, dropout=0.5)


def test_cells_step_as_layers_do():
    ng.manual_seed(0)
    layer, cell = nn.LSTM(3, 4), nn.LSTMCell(3, 4)
    cell.load_state_dict({name[:-3]: value for name, value in layer.state_dict().items()})
    x = ng.randn(5, 2, 3)
    state = None
    for step in x:
        state = cell(step, state)
    outputs, _ = layer(x)
    np.testing.assert_allclose(state[0].detach().numpy(), outputs[-1].detach().numpy(), rtol=1e-6)
