"""Training scripts that differ in the network: layers, recurrence, attention."""

from __future__ import annotations

import math

from scripts_tools import STEPS, classes, classify, fit, mlp, normal, script, whole

import numbagrad as torch
from numbagrad import nn

F = nn.functional


@script
def linear_regression(compile):
    net = nn.Linear(4, 1)
    return fit(
        compile, net, lambda x: F.mse_loss(net(x), x.sum(1, keepdim=True)),
        lambda k: (normal(k, 6, 4),),
    )  # fmt: skip


@script
def logistic_regression(compile):
    net = nn.Linear(4, 1)
    return fit(
        compile, net,
        lambda x, y: F.binary_cross_entropy_with_logits(net(x)[:, 0], y.float()),
        classes((4,), 2),
    )  # fmt: skip


@script
def deep_network(compile):
    return classify(compile, mlp(4, 8, 8, 8, 3, act=nn.Tanh), (4,))


@script
def residual_blocks(compile):
    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Linear(6, 6), nn.Linear(6, 6)

        def forward(self, x):
            return x + self.b(F.gelu(self.a(x)))

    return classify(
        compile, nn.Sequential(Block(), nn.LayerNorm(6), Block(), nn.Linear(6, 3)), (6,)
    )


@script
def convolutions(compile):
    net = nn.Sequential(
        nn.Conv2d(2, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(4, 4, 3, padding=1, groups=4), nn.SiLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
        nn.Linear(4, 3),
    )  # fmt: skip
    return classify(compile, net, (2, 6, 6))


@script
def convolutions_in_time(compile):
    net = nn.Sequential(
        nn.Conv1d(2, 5, 3, dilation=2, padding=2), nn.GroupNorm(1, 5), nn.ELU(),
        nn.Conv1d(5, 3, 3, padding=1), nn.AdaptiveMaxPool1d(1), nn.Flatten(),
    )  # fmt: skip
    return classify(compile, net, (2, 9))


@script
def squeeze_and_excite(compile):
    class Gate(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv, self.gate = nn.Conv2d(2, 4, 3), mlp(4, 2, 4)

        def forward(self, x):
            x = self.conv(x)
            return x * torch.sigmoid(self.gate(x.mean((2, 3))))[:, :, None, None]

    return classify(compile, nn.Sequential(Gate(), nn.Flatten(), nn.Linear(36, 3)), (2, 5, 5))


@script
def autoencoder_with_transposed_convolutions(compile):
    net = nn.Sequential(
        nn.Conv2d(1, 3, 3, stride=2, padding=1), nn.LeakyReLU(0.1),
        nn.ConvTranspose2d(3, 1, 4, stride=2, padding=1), nn.Sigmoid(),
    )  # fmt: skip
    return fit(
        compile, net, lambda x: F.l1_loss(net(x), x), lambda k: (normal(k, 3, 1, 6, 6).sigmoid(),)
    )


@script
def variational_autoencoder(compile):
    encode, decode = mlp(6, 8, 4), mlp(2, 8, 6)
    net = nn.ModuleList([encode, decode])

    def loss(x):
        mean, log_variance = encode(x).chunk(2, 1)
        z = mean + torch.randn_like(mean) * (0.5 * log_variance).exp()
        kl = -0.5 * (1 + log_variance - mean**2 - log_variance.exp()).sum(1).mean()
        return F.mse_loss(decode(z), x) + 0.1 * kl

    return fit(compile, net, loss, lambda k: (normal(k, 5, 6),))


@script
def lstm_classifier(compile):
    lstm, head = nn.LSTM(3, 5, batch_first=True, bidirectional=True), nn.Linear(10, 3)
    net = nn.ModuleList([lstm, head])
    return fit(
        compile, net, lambda x, y: F.cross_entropy(head(lstm(x)[0][:, -1]), y), classes((4, 3))
    )


@script
def gru_with_hidden_state_carried_on(compile):
    gru, head = nn.GRU(3, 4), nn.Linear(4, 2)
    net = nn.ModuleList([gru, head])
    optimizer = torch.optim.Adam(net.parameters(), 0.01)

    @compile
    def step(x, y, hidden):
        optimizer.zero_grad()
        out, hidden = gru(x, hidden.detach())
        loss = F.mse_loss(head(out), y)
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 0.5)
        optimizer.step()
        return loss, hidden

    hidden, losses = torch.zeros(1, 2, 4), []
    for k in range(STEPS):
        loss, hidden = step(normal(k, 5, 2, 3), normal(k + 50, 5, 2, 2), hidden)
        losses.append(loss)
    return [losses, hidden, dict(net.state_dict())]


@script
def recurrence_by_hand(compile):
    cell, head = nn.RNNCell(3, 4), nn.Linear(4, 3)
    net = nn.ModuleList([cell, head])

    def loss(x, y):
        state = torch.zeros(x.shape[0], 4)
        for t in range(x.shape[1]):
            state = cell(x[:, t], state)
        return F.cross_entropy(head(state), y)

    return fit(compile, net, loss, classes((4, 3)))


@script
def lstm_cells_in_a_loop(compile):
    cell, head = nn.LSTMCell(2, 3), nn.Linear(3, 1)
    net = nn.ModuleList([cell, head])

    def loss(x):
        state, cost = (torch.zeros(x.shape[1], 3), torch.zeros(x.shape[1], 3)), 0.0
        for t in range(len(x) - 1):
            state = cell(x[t], state)
            cost = cost + F.smooth_l1_loss(head(state[0]), x[t + 1, :, :1])
        return cost / (len(x) - 1)

    return fit(compile, net, loss, lambda k: (normal(k, 5, 3, 2),))


@script
def sequence_to_sequence(compile):
    encoder, decoder, head = nn.GRU(3, 4), nn.GRU(3, 4), nn.Linear(4, 3)
    net = nn.ModuleList([encoder, decoder, head])

    def loss(x, y):
        _, hidden = encoder(x)
        made, last = [], torch.zeros(1, x.shape[1], 3)
        for t in range(y.shape[0]):
            out, hidden = decoder(last, hidden)
            last = head(out)
            made.append(last)
            if t % 2 == 0:  # teacher forcing
                last = y[t : t + 1]
        return F.mse_loss(torch.cat(made), y)

    return fit(compile, net, loss, lambda k: (normal(k, 4, 2, 3), normal(k + 9, 4, 2, 3)))


@script
def attention_by_hand(compile):
    class Attention(nn.Module):
        def __init__(self):
            super().__init__()
            self.q, self.k, self.v = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 4)

        def forward(self, x):
            weight = (self.q(x) @ self.k(x).transpose(1, 2) / math.sqrt(4)).softmax(-1)
            return (weight @ self.v(x)).mean(1)

    return classify(compile, nn.Sequential(Attention(), nn.Linear(4, 3)), (5, 4))


@script
def attention_of_the_library(compile):
    attention, head = nn.MultiheadAttention(4, 2, batch_first=True), nn.Linear(4, 3)
    net = nn.ModuleList([attention, head])

    def loss(x, y):
        made, weights = attention(x, x, x)
        return F.cross_entropy(head(made[:, 0]), y) + 0.01 * weights.pow(2).mean()

    return fit(compile, net, loss, classes((5, 4)))


@script
def causal_transformer(compile):
    embedding, positions = nn.Embedding(7, 4), nn.Parameter(torch.zeros(5, 4))
    layer = nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0, batch_first=True, norm_first=True)
    head = nn.Linear(4, 7, bias=False)
    head.weight = embedding.weight
    net = nn.ModuleList([embedding, layer, head])
    net.positions = positions

    def loss(x):
        mask = torch.triu(torch.full((4, 4), float("-inf")), 1)
        made = layer(embedding(x[:, :-1]) + positions[:4], src_mask=mask)
        return F.cross_entropy(head(made).reshape(-1, 7), x[:, 1:].reshape(-1))

    return fit(compile, net, loss, lambda k: (whole(k, 7, 3, 5),))
