"""Training scripts as people write them, for any library with torch's names.

Each takes the module of a library and ``compile``, trains for some steps on batches of which the
last of an epoch is smaller, and returns what it computed on the way and the tensors that it
trained. ``test_compile_scripts.py`` runs them with and without ``compile``,
``parity/test_training.py`` in torch.
"""

from __future__ import annotations

import math

import numpy as np

SIZES = (7, 7, 4)
STEPS = 9


def normal(torch, k, *shape):
    """Random numbers that are the same in every library."""
    return torch.from_numpy(np.random.default_rng(k).standard_normal(shape).astype("float32"))


def whole(torch, k, below, *shape):
    """Random integers."""
    return torch.from_numpy(np.random.default_rng(100 + k).integers(0, below, shape))


def size(k):
    """Samples of the batch of a step."""
    return SIZES[k % len(SIZES)]


def residual_network(torch, compile):
    nn, F = torch.nn, torch.nn.functional

    class Block(nn.Module):
        def __init__(self, inputs, outputs, stride):
            super().__init__()
            self.first = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
            self.norm = nn.BatchNorm2d(outputs)
            self.second = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
            self.short = nn.Conv2d(inputs, outputs, 1, stride, bias=False)

        def forward(self, x):
            made = F.relu(self.norm(self.first(x)), inplace=True)
            made = self.second(made)
            made += self.short(x)
            return F.relu(made)

    net = nn.Sequential(
        Block(3, 4, 1), Block(4, 6, 2), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(6, 5)
    )
    for module in net.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
    optimizer = torch.optim.SGD(
        net.parameters(), 0.05, momentum=0.9, weight_decay=5e-4, nesterov=True
    )
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, STEPS)

    @compile
    def step(x, y):
        out = net(x)
        loss = F.cross_entropy(out, y, label_smoothing=0.1)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        return loss.detach(), (out.argmax(1) == y).sum()

    found = []
    for k in range(STEPS):
        net.train()
        x, y = normal(torch, k, size(k), 3, 6, 6), whole(torch, k, 5, size(k))
        found += step(x, y)
        scheduler.step()
        net.eval()
        with torch.no_grad():
            found.append(F.cross_entropy(net(x), y))
    return found, [*net.parameters(), *net.buffers()]


def packed_sequences(torch, compile):
    nn, rnn = torch.nn, torch.nn.utils.rnn
    embedding, lstm = nn.Embedding(11, 4, padding_idx=0), nn.LSTM(4, 5, 2, batch_first=True)
    head = nn.Linear(5, 11)
    parameters = [*embedding.parameters(), *lstm.parameters(), *head.parameters()]
    optimizer = torch.optim.Adam(parameters, 1e-2)
    criterion = nn.CrossEntropyLoss(ignore_index=0)

    @compile
    def step(x, lengths, y):
        optimizer.zero_grad()
        packed = rnn.pack_padded_sequence(
            embedding(x), lengths, batch_first=True, enforce_sorted=False
        )
        made, _ = rnn.pad_packed_sequence(lstm(packed)[0], batch_first=True, total_length=6)
        loss = criterion(head(made).reshape(-1, 11), y.reshape(-1))
        loss.backward()
        norm = nn.utils.clip_grad_norm_(parameters, 0.25)
        optimizer.step()
        return loss, norm

    found = []
    for k in range(STEPS):
        x, y = whole(torch, k, 11, size(k), 6), whole(torch, 50 + k, 11, size(k), 6)
        found += step(x, 1 + whole(torch, k, 6, size(k)), y)
    return found, parameters


def language_model(torch, compile):
    """A hidden state from segment to segment, tied weights, and an update by hand."""
    nn, F = torch.nn, torch.nn.functional
    embedding, gru, head = nn.Embedding(9, 5), nn.GRU(5, 5, 2), nn.Linear(5, 9)
    head.weight = embedding.weight
    modules = nn.ModuleList([embedding, gru, head])

    @compile
    def step(x, y, hidden, rate):
        modules.zero_grad()
        made, hidden = gru(embedding(x), hidden.detach())
        loss = F.nll_loss(F.log_softmax(head(made).view(-1, 9), dim=1), y)
        loss.backward()
        nn.utils.clip_grad_norm_(modules.parameters(), 0.25)
        for parameter in modules.parameters():
            parameter.data.add_(parameter.grad, alpha=-rate)
        return loss, hidden

    found, hidden = [], torch.zeros(2, 3, 5)
    for k in range(STEPS):
        x, y = whole(torch, k, 9, size(k), 3), whole(torch, 50 + k, 9, size(k) * 3)
        loss, hidden = step(x, y, hidden, 0.5 / (1 + k // 3))
        found.append(loss)
    return [*found, hidden], list(modules.parameters())


def masked_transformer(torch, compile):
    nn, F = torch.nn, torch.nn.functional
    layer = nn.TransformerEncoderLayer(8, 2, 12, dropout=0.0)
    net = nn.ModuleList([nn.Embedding(9, 8), nn.TransformerEncoder(layer, 2), nn.Linear(8, 9)])
    optimizer = torch.optim.SGD(net.parameters(), 0.05)
    scheduler = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda k: min((k + 1) ** -0.5, (k + 1) * 4**-1.5)
    )

    @compile
    def step(x, y, mask, padding):
        made = net[1](net[0](x) * math.sqrt(8), mask, padding)
        loss = F.cross_entropy(net[2](made).view(-1, 9), y, ignore_index=0)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 0.5)
        optimizer.step()
        return loss

    found = []
    for k in range(STEPS):
        length = size(k)
        x, y = whole(torch, k, 9, length, 3), whole(torch, 50 + k, 9, length * 3)
        x[0] = 1
        mask = torch.triu(torch.full((length, length), float("-inf")), diagonal=1)
        padding = torch.zeros(3, length).masked_fill(x.t() == 0, float("-inf"))
        found.append(step(x, y, mask, padding))
        scheduler.step()
    return found, list(net.parameters())


def accumulated_gradients(torch, compile):
    """Causal attention, groups with and without weight decay, micro-batches."""
    nn, F = torch.nn, torch.nn.functional

    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm, self.mix = nn.LayerNorm(6), nn.Linear(6, 18, bias=False)
            self.out = nn.Linear(6, 6)

        def forward(self, x):
            batch, length, _ = x.size()
            parts = self.mix(self.norm(x)).split(6, dim=2)
            q, k, v = [p.view(batch, length, 2, 3).transpose(1, 2) for p in parts]
            made = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            return x + F.gelu(self.out(made.transpose(1, 2).reshape(batch, length, 6)))

    net = nn.Sequential(nn.Embedding(9, 6), Layer(), Layer(), nn.Linear(6, 9, bias=False))
    net[0].weight = net[3].weight
    groups = [
        {"params": [p for p in net.parameters() if p.dim() >= 2], "weight_decay": 0.1},
        {"params": [p for p in net.parameters() if p.dim() < 2], "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(groups, lr=1e-3, betas=(0.9, 0.95))

    @compile
    def accumulate(x, y, parts):
        loss = F.cross_entropy(net(x).view(-1, 9), y.view(-1)) / parts
        loss.backward()
        return loss

    @compile
    def update():
        norm = nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return norm

    found = []
    for k in range(STEPS):
        for group in optimizer.param_groups:
            group["lr"] = 1e-3 * (k + 1) / STEPS
        x, y = whole(torch, k, 9, 3, size(k)), whole(torch, 50 + k, 9, 3, size(k))
        found.append(accumulate(x, y, 2))
        if k % 2:
            found.append(update())
    return found, list(net.parameters())


def value_network(torch, compile):
    """Q-learning: gather, a target network, gradients that are clamped."""
    nn, F = torch.nn, torch.nn.functional
    policy, target = (nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3)) for _ in range(2))
    target.load_state_dict(policy.state_dict())
    optimizer = torch.optim.RMSprop(policy.parameters(), 1e-3)

    @compile
    def step(state, action, reward, following, done):
        value = policy(state).gather(1, action)
        with torch.no_grad():
            later = torch.where(done, torch.zeros_like(reward), target(following).max(1).values)
        loss = F.smooth_l1_loss(value, (reward + 0.9 * later).unsqueeze(1))
        optimizer.zero_grad()
        loss.backward()
        for parameter in policy.parameters():
            parameter.grad.data.clamp_(-1, 1)
        optimizer.step()
        return loss

    found = []
    for k in range(STEPS):
        n = size(k)
        states = normal(torch, k, n, 4), normal(torch, 50 + k, n, 4)
        action, reward = whole(torch, k, 3, n, 1), normal(torch, 80 + k, n)
        found.append(step(states[0], action, reward, states[1], reward > 1))
        if k % 3 == 2:
            target.load_state_dict(policy.state_dict())
    return found, [*policy.parameters(), *target.parameters()]


def clipped_policy(torch, compile):
    """PPO with a range of the ratio that shrinks."""
    nn = torch.nn
    body, mean, value = nn.Linear(5, 8), nn.Linear(8, 2), nn.Linear(8, 1)
    deviation = nn.Parameter(torch.zeros(2))
    parameters = [*body.parameters(), *mean.parameters(), *value.parameters(), deviation]
    optimizer = torch.optim.Adam(parameters, 3e-3, eps=1e-5)

    @compile
    def step(state, action, old, gain, returned, clip):
        gain = (gain - gain.mean()) / (gain.std() + 1e-8)
        hidden = torch.tanh(body(state))
        distance = (action - mean(hidden)) / deviation.exp()
        density = (-0.5 * distance**2 - deviation - 0.5 * math.log(2 * math.pi)).sum(-1)
        ratio = (density - old).exp()
        clipped = torch.clamp(ratio, 1 - clip, 1 + clip)
        loss = -torch.min(ratio * gain, clipped * gain).mean()
        loss = loss + 0.5 * (returned - value(hidden).squeeze(-1)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(parameters, 0.5)
        optimizer.step()
        return loss, (old - density).mean()

    found = []
    for k in range(STEPS):
        n = size(k)
        some = [normal(torch, 9 * k + j, n) for j in range(3)]
        given = normal(torch, 200 + k, n, 5), normal(torch, 300 + k, n, 2), some[0] - 3
        found += step(*given, *some[1:], 0.2 * (1 - k / STEPS))
    return found, parameters


def frozen_in_turn(torch, compile):
    """Two networks with computed weights, of which one is frozen while the other learns."""
    nn = torch.nn
    critic = nn.Sequential(
        nn.utils.spectral_norm(nn.Linear(4, 6, bias=False)), nn.Tanh(), nn.Linear(6, 1, bias=False)
    )
    maker = nn.utils.parametrizations.weight_norm(nn.Linear(2, 4))
    first = torch.optim.SGD(critic.parameters(), 0.05)
    second = torch.optim.SGD(maker.parameters(), 0.05)

    @compile
    def judge(x, noise):
        for parameter in critic.parameters():
            parameter.requires_grad = True
        made = maker(noise).detach()
        first.zero_grad()
        mixed = (0.3 * x + 0.7 * made).requires_grad_(True)
        (slope,) = torch.autograd.grad(critic(mixed).sum(), mixed, create_graph=True)
        loss = critic(made).mean() - critic(x).mean() + (slope.norm(2, dim=1) - 1).pow(2).mean()
        loss.backward()
        first.step()
        return loss

    @compile
    def make(noise):
        for parameter in critic.parameters():
            parameter.requires_grad = False
        second.zero_grad()
        loss = -critic(maker(noise)).mean()
        loss.backward()
        second.step()
        return loss

    found = []
    for k in range(STEPS):
        noise = normal(torch, 50 + k, size(k), 2)
        found += [judge(normal(torch, k, size(k), 4), noise), make(noise)]
    return found, [*critic.parameters(), *maker.parameters()]


def physics(torch, compile):
    """An equation of heat whose coefficient is learned; points become leaves in the step."""
    nn = torch.nn
    net = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 1))
    coefficient = nn.Parameter(torch.tensor(0.1))
    optimizer = torch.optim.Adam([*net.parameters(), coefficient], 1e-3)

    def slope(y, x):
        return torch.autograd.grad(y, x, torch.ones_like(y), create_graph=True)[0]

    @compile
    def step(x, t, border, values):
        x.requires_grad_(True)
        t.requires_grad_(True)
        u = net(torch.cat([x, t], 1))
        residual = slope(u, t) - coefficient * slope(slope(u, x), x)
        loss = residual.pow(2).mean() + (net(border) - values).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    found = []
    for k in range(STEPS):
        n = 20 * size(k) + 1  # tiles of the chain do not divide it
        found.append(
            step(normal(torch, k, n, 1), normal(torch, 50 + k, n, 1),
                 normal(torch, 80 + k, 5, 2), normal(torch, 90 + k, 5, 1))
        )  # fmt: skip
    return found, [*net.parameters(), coefficient]


def mixed_samples(torch, compile):
    """Mixup, one cycle of rate and momentum, and a mean of the weights."""
    nn, F = torch.nn, torch.nn.functional
    net, mean = (nn.Sequential(nn.Linear(6, 8), nn.SiLU(), nn.Linear(8, 4)) for _ in range(2))
    mean.requires_grad_(False)
    optimizer = torch.optim.SGD(net.parameters(), 0.1, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.2, total_steps=STEPS + 1)

    @compile
    def step(x, y, share, order):
        out = net(share * x + (1 - share) * x[order])
        loss = share * F.cross_entropy(out, y) + (1 - share) * F.cross_entropy(out, y[order])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            for own, other in zip(mean.parameters(), net.parameters(), strict=True):
                own.mul_(0.9).add_(other, alpha=0.1)
        return loss

    found = []
    for k in range(STEPS):
        n = size(k)
        order = torch.from_numpy(np.random.default_rng(k).permutation(n))
        found.append(step(normal(torch, k, n, 6), whole(torch, k, 4, n), 0.5 + k / 20, order))
        scheduler.step()
    return found, [*net.parameters(), *mean.parameters()]


def filtered(torch, compile):
    """The likelihood of a series under a Kalman filter."""
    linalg = torch.linalg
    change = (torch.eye(3) + 0.05 * normal(torch, 1, 3, 3)).requires_grad_()
    seen = normal(torch, 2, 2, 3).requires_grad_()
    noises = torch.zeros(3, requires_grad=True), torch.zeros(2, requires_grad=True)
    parameters = [change, seen, *noises]
    optimizer = torch.optim.Adam(parameters, 1e-2)

    @compile
    def step(series):
        mean, spread, total = torch.zeros(3, 1), torch.eye(3), 0.0
        for y in series:
            mean = change @ mean
            spread = change @ spread @ change.t() + torch.diag(noises[0].exp())
            factor = linalg.cholesky(seen @ spread @ seen.t() + torch.diag(noises[1].exp()))
            error = y.unsqueeze(1) - seen @ mean
            gain = torch.cholesky_solve(seen @ spread, factor).t()
            mean, spread = mean + gain @ error, spread - gain @ seen @ spread
            white = linalg.solve_triangular(factor, error, upper=False)
            total = total + 0.5 * white.pow(2).sum() + factor.diagonal().log().sum()
        optimizer.zero_grad()
        total.backward()
        optimizer.step()
        return total

    return [step(normal(torch, k, size(k), 2)) for k in range(STEPS)], parameters


def with_closure(torch, compile):
    nn = torch.nn
    net = nn.Sequential(nn.Linear(2, 6), nn.Tanh(), nn.Linear(6, 1))
    optimizer = torch.optim.LBFGS(net.parameters(), lr=0.05, max_iter=2)
    x = normal(torch, 1, 33, 2)
    y = torch.sin(x[:, :1]) * x[:, 1:]

    @compile
    def evaluate():
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(net(x), y)
        loss.backward()
        return loss

    return [optimizer.step(evaluate) for _ in range(STEPS)], list(net.parameters())


SCRIPTS = (
    residual_network, packed_sequences, language_model, masked_transformer, accumulated_gradients,
    value_network, clipped_policy, frozen_in_turn, physics, mixed_samples, filtered, with_closure,
)  # fmt: skip
