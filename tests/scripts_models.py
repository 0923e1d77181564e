"""Training scripts that differ in the model: experts, graphs, flows, parametrizations, losses."""

from __future__ import annotations

from scripts_tools import STEPS, classes, classify, fit, mlp, normal, script, scripts, whole

import numbagrad as torch
from numbagrad import nn, optim

F = nn.functional


@script
def bag_of_words(compile):
    net = nn.Sequential(nn.EmbeddingBag(9, 4, mode="mean"), nn.Linear(4, 3))
    return fit(
        compile, net, lambda x, y: F.cross_entropy(net(x), y),
        lambda k: (whole(k, 9, 5, 6), whole(k + 7, 3, 5)),
    )  # fmt: skip


@script
def negative_sampling(compile):
    words, contexts = nn.Embedding(9, 4), nn.Embedding(9, 4)
    net = nn.ModuleList([words, contexts])

    def loss(center, context, negative):
        v = words(center)
        good = F.logsigmoid((v * contexts(context)).sum(1))
        bad = F.logsigmoid(-(contexts(negative) @ v[:, :, None])[:, :, 0]).sum(1)
        return -(good + bad).mean()

    return fit(
        compile, net, loss,
        lambda k: (whole(k, 9, 6), whole(k + 1, 9, 6), whole(k + 2, 9, 6, 3)), lr=0.2,
    )  # fmt: skip


@script
def matrix_factorisation(compile):
    users, items = nn.Embedding(5, 3), nn.Embedding(6, 3)
    bias = nn.Parameter(torch.zeros(5))
    net = nn.ModuleList([users, items])
    net.bias = bias

    def loss(u, i, rating):
        found = (users(u) * items(i)).sum(1) + bias[u]
        return F.mse_loss(found, rating) + 1e-3 * users.weight.square().sum()

    return fit(
        compile, net, loss, lambda k: (whole(k, 5, 8), whole(k + 1, 6, 8), normal(k, 8)), lr=0.1
    )


@script
def siamese_network(compile):
    net = mlp(4, 6, 3)

    def loss(a, b, same):
        distance = F.pairwise_distance(net(a), net(b))
        return (same * distance**2 + (1 - same) * F.relu(1 - distance) ** 2).mean()

    return fit(
        compile, net, loss,
        lambda k: (normal(k, 5, 4), normal(k + 9, 5, 4), whole(k, 2, 5).float()),
    )  # fmt: skip


@script
def mixture_of_experts(compile):
    experts, gate = nn.ModuleList([mlp(4, 5, 3) for _ in range(3)]), nn.Linear(4, 3)
    net = nn.ModuleList([experts, gate])

    def loss(x, y):
        weight = gate(x).softmax(1)
        made = torch.stack([expert(x) for expert in experts], 1)
        return F.cross_entropy((weight[:, :, None] * made).sum(1), y)

    return fit(compile, net, loss, classes((4,)))


@script
def experts_of_the_two_best(compile):
    experts, gate = nn.ModuleList([nn.Linear(4, 3) for _ in range(4)]), nn.Linear(4, 4)
    net = nn.ModuleList([experts, gate])

    def loss(x, y):
        best, which = gate(x).topk(2, 1)
        made = torch.stack([expert(x) for expert in experts], 1)
        chosen = made.gather(1, which[:, :, None].expand(-1, -1, 3))
        return F.cross_entropy((best.softmax(1)[:, :, None] * chosen).sum(1), y)

    return fit(compile, net, loss, classes((4,)))


@script
def highway_network(compile):
    class Highway(nn.Module):
        def __init__(self):
            super().__init__()
            self.h, self.t = nn.Linear(4, 4), nn.Linear(4, 4)

        def forward(self, x):
            t = torch.sigmoid(self.t(x))
            return t * torch.relu(self.h(x)) + (1 - t) * x

    return classify(compile, nn.Sequential(Highway(), Highway(), nn.Linear(4, 3)), (4,))


@script
def small_u_net(compile):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.down, self.mid = nn.Conv2d(1, 3, 3, padding=1), nn.Conv2d(3, 3, 3, padding=1)
            self.up = nn.Conv2d(6, 1, 3, padding=1)

        def forward(self, x):
            a = F.relu(self.down(x))
            b = F.relu(self.mid(F.max_pool2d(a, 2)))
            b = F.interpolate(b, scale_factor=2.0, mode="nearest")
            return self.up(torch.cat([a, b], 1))

    net = Net()

    def dice(x, y):
        p = net(x).sigmoid()
        return 1 - (2 * (p * y).sum() + 1) / (p.sum() + y.sum() + 1)

    return fit(
        compile, net, dice, lambda k: (normal(k, 2, 1, 6, 6), whole(k, 2, 2, 1, 6, 6).float())
    )


@script
def super_resolution(compile):
    net = nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.PReLU(), nn.PixelShuffle(2))
    return fit(
        compile, net, lambda x, y: F.huber_loss(net(x), y),
        lambda k: (normal(k, 2, 1, 3, 3), normal(k + 1, 2, 1, 6, 6)),
    )  # fmt: skip


@script
def deep_sets(compile):
    inner, outer = mlp(2, 5), mlp(5, 5, 1)
    net = nn.ModuleList([inner, outer])

    def loss(x, mask):
        made = (inner(x).relu() * mask[:, :, None]).sum(1)
        return F.mse_loss(outer(made)[:, 0], (x[:, :, 0] * mask).sum(1))

    return fit(
        compile, net, loss, lambda k: (normal(k, 4, 5, 2), whole(k, 2, 4, 5).float()), lr=0.01
    )


@script
def graph_convolution(compile):
    edges = whole(1, 2, 6, 6).float()
    edges = ((edges + edges.t()) > 0).float() + torch.eye(6)
    scale = edges.sum(1).rsqrt()
    adjacency = scale[:, None] * edges * scale
    first, second = nn.Linear(3, 5), nn.Linear(5, 3)
    net = nn.ModuleList([first, second])

    def loss(x, y):
        made = adjacency @ second(F.relu(adjacency @ first(x)))
        return F.nll_loss(F.log_softmax(made, 1)[:4], y[:4])

    return fit(compile, net, loss, lambda k: (normal(0, 6, 3), whole(0, 3, 6)))


@script
def messages_along_edges(compile):
    sources, targets = whole(1, 5, 9), whole(2, 5, 9)
    message, update = nn.Linear(6, 3), nn.GRUCell(3, 3)
    net = nn.ModuleList([message, update])

    def loss(x):
        for _ in range(2):
            sent = torch.tanh(message(torch.cat([x[sources], x[targets]], 1)))
            x = update(torch.zeros(5, 3).index_add(0, targets, sent), x)
        return x.square().mean()

    return fit(compile, net, loss, lambda k: (normal(k, 5, 3),))


@script
def neural_ode(compile):
    field = mlp(2, 6, 2, act=nn.Tanh)

    def loss(x, y):
        for _ in range(4):
            a = field(x)
            x = x + 0.25 * (a + field(x + 0.25 * a)) / 2
        return F.mse_loss(x, y)

    return fit(compile, field, loss, lambda k: (normal(k, 4, 2), normal(k + 1, 4, 2)))


@script
def hypernetwork(compile):
    net = mlp(2, 6, 4 * 3 + 3)

    def loss(task, x, y):
        made = net(task)
        weight, bias = made[:12].view(3, 4), made[12:]
        return F.cross_entropy(F.linear(x, weight, bias), y)

    return fit(compile, net, loss, lambda k: (normal(k, 2), normal(k, 5, 4), whole(k, 3, 5)))


@script
def low_rank_adapter(compile):
    class Adapted(nn.Module):
        def __init__(self, base):
            super().__init__()
            self.base = base.requires_grad_(False)
            self.a, self.b = nn.Parameter(torch.randn(2, 4) * 0.1), nn.Parameter(torch.zeros(3, 2))

        def forward(self, x):
            return self.base(x) + x @ self.a.t() @ self.b.t()

    net = Adapted(nn.Linear(4, 3))
    return classify(
        compile, net, (4,),
        make=lambda p: torch.optim.AdamW([each for each in p if each.requires_grad], 0.05),
    )  # fmt: skip


@script
def weight_norm(compile):
    parametrized = nn.utils.parametrizations.weight_norm(nn.Linear(4, 5))
    return classify(compile, nn.Sequential(parametrized, nn.Tanh(), nn.Linear(5, 3)), (4,))


@script
def own_parametrization(compile):
    class Symmetric(nn.Module):
        def forward(self, w):
            return w.triu() + w.triu(1).t()

    layer = nn.Linear(4, 4)
    nn.utils.parametrize.register_parametrization(layer, "weight", Symmetric())
    return classify(compile, nn.Sequential(layer, nn.ReLU(), nn.Linear(4, 3)), (4,))


@script
def tied_autoencoder(compile):
    layer, bias = nn.Linear(6, 3), nn.Parameter(torch.zeros(6))
    layer.back = bias
    return fit(
        compile, layer,
        lambda x: F.mse_loss(F.linear(torch.tanh(layer(x)), layer.weight.t(), bias), x),
        lambda k: (normal(k, 5, 6),),
    )  # fmt: skip


@script
def mixture_density_network(compile):
    net = mlp(1, 8, 9, act=nn.Tanh)

    def loss(x, y):
        weight, mean, log_scale = net(x).chunk(3, 1)
        log_density = -0.5 * ((y - mean) / log_scale.exp()) ** 2 - log_scale
        return -torch.logsumexp(weight.log_softmax(1) + log_density, 1).mean()

    return fit(compile, net, loss, lambda k: (normal(k, 6, 1), normal(k + 1, 6, 1)), lr=0.01)


@script
def fourier_features(compile):
    frequencies = 2.0 ** torch.arange(4.0)
    net = mlp(8, 8, 1)

    def loss(x):
        angles = x * frequencies
        return F.mse_loss(net(torch.cat([angles.sin(), angles.cos()], 1)), (3 * x).sin())

    return fit(compile, net, loss, lambda k: (normal(k, 7, 1),))


@script
def normalizing_flow(compile):
    class Coupling(nn.Module):
        def __init__(self, flip):
            super().__init__()
            self.net, self.flip = mlp(1, 6, 2, act=nn.Tanh), flip

        def forward(self, x):
            a, b = x.chunk(2, 1)
            if self.flip:
                a, b = b, a
            scale, shift = self.net(a).chunk(2, 1)
            b = b * scale.tanh().exp() + shift
            return torch.cat([b, a] if self.flip else [a, b], 1), scale.tanh().sum(1)

    layers = nn.ModuleList([Coupling(k % 2 == 1) for k in range(4)])

    def loss(x):
        total = torch.zeros(len(x))
        for layer in layers:
            x, change = layer(x)
            total = total + change
        return (0.5 * x.square().sum(1) - total).mean()

    return fit(compile, layers, loss, lambda k: (normal(k, 6, 2),))


@script
def bilinear_scores(compile):
    net = nn.Bilinear(3, 4, 2)
    return fit(
        compile, net, lambda a, b, y: F.cross_entropy(net(a, b), y),
        lambda k: (normal(k, 5, 3), normal(k + 1, 5, 4), whole(k, 2, 5)),
    )  # fmt: skip


@script
def polynomial_by_hand(compile):
    a = nn.ParameterList([nn.Parameter(torch.zeros(())) for _ in range(4)])

    def loss(x):
        made = sum(each * x**n for n, each in enumerate(a))
        return (made - x.sin()).square().mean()

    return fit(compile, a, loss, lambda k: (normal(k, 9),), lr=0.01)


@script
def vision_transformer(compile):
    patches = nn.Conv2d(1, 4, 2, 2)
    token, layer = nn.Parameter(torch.zeros(1, 1, 4)), nn.TransformerEncoderLayer(4, 1, 6, 0.0)
    head = nn.Linear(4, 3)
    net = nn.ModuleList([patches, layer, head])
    net.token = token

    def loss(x, y):
        made = patches(x).flatten(2).permute(2, 0, 1)
        made = layer(torch.cat([token.expand(1, len(x), 4), made]))
        return F.cross_entropy(head(made[0]), y)

    return fit(compile, net, loss, classes((1, 4, 4)))


@script
def dropout_and_batch_norm(compile):
    net = nn.Sequential(
        nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.3), nn.Linear(8, 3)
    )
    return classify(compile, net, (4,))


@script
def layers_called_by_name(compile):
    net = nn.ModuleDict({"in": nn.Linear(4, 6), "mid": nn.Linear(6, 6), "out": nn.Linear(6, 3)})
    order = ["in", "mid", "mid", "out"]

    def loss(x, y):
        for k, name in enumerate(order):
            x = net[name](x)
            if k < len(order) - 1:
                x = F.mish(x)
        return F.cross_entropy(x, y)

    return fit(compile, net, loss, classes((4,)))


@script
def stochastic_depth(compile):
    blocks = nn.ModuleList([nn.Linear(4, 4) for _ in range(3)])
    head = nn.Linear(4, 3)
    net = nn.ModuleList([blocks, head])

    def loss(x, y):
        for block in blocks:
            keep = (torch.rand(len(x), 1) > 0.3).float()
            x = x + keep * torch.relu(block(x))
        return F.cross_entropy(head(x), y)

    return fit(compile, net, loss, classes((4,)))


LOSSES = {
    "mse": F.mse_loss,
    "l1": F.l1_loss,
    "smooth": lambda a, b: F.smooth_l1_loss(a, b, beta=0.5),
    "huber": F.huber_loss,
    "poisson": lambda a, b: F.poisson_nll_loss(a, b.abs()),
    "gaussian": lambda a, b: F.gaussian_nll_loss(a, b, torch.ones_like(b)),
    "soft-margin": lambda a, b: F.soft_margin_loss(a, b.sign()),
    "kl": lambda a, b: F.kl_div(a.log_softmax(1), b.softmax(1), reduction="batchmean"),
    "cosine": lambda a, b: F.cosine_embedding_loss(a, b, torch.ones(len(a))),
    "margin": lambda a, b: F.multi_margin_loss(a, b.argmax(1)),
    "quantile": lambda a, b: torch.maximum(0.9 * (b - a), -0.1 * (b - a)).mean(),
    "focal": lambda a, b: ((1 - a.sigmoid()) ** 2 * F.softplus(-a) * (b > 0)).mean(),
}


def regression(compile, loss):
    """The same network with another loss."""
    net = mlp(4, 6, 3)
    return fit(
        compile, net, lambda x, y: loss(net(x), y), lambda k: (normal(k, 5, 4), normal(k + 9, 5, 3))
    )


scripts(regression, LOSSES)


@script
def equilibrium_layer(compile):
    a, b = nn.Linear(4, 4), nn.Linear(3, 4)
    optimizer = optim.SGD([*a.parameters(), *b.parameters()], 0.05)
    iterations = []

    @compile
    def step(x):
        with torch.no_grad():
            z = torch.zeros(len(x), 4)
            for n in range(10):  # noqa: B007 - kept below
                new = torch.tanh(0.5 * a(z) + b(x))
                if (new - z).abs().max() < 0.05:
                    break
                z = new
        iterations.append(n)
        z = torch.tanh(0.5 * a(z) + b(x))
        optimizer.zero_grad()
        loss = z.square().mean()
        loss.backward()
        optimizer.step()
        return loss.detach()

    return [[step(normal(k, 3, 3)) for k in range(STEPS)], iterations]


@script
def cellular_automaton(compile):
    rule = nn.Conv2d(2, 2, 3, padding=1)
    optimizer = optim.Adam(rule.parameters(), 0.01)
    pool = [torch.zeros(1, 2, 5, 5) for _ in range(3)]

    @compile
    def step(k, target):
        state = pool[k]
        for _ in range(2):
            state = state + 0.5 * torch.tanh(rule(state)) * (torch.rand(1, 1, 5, 5) > 0.5)
        loss = (state[:, 0] - target).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        pool[k] = state.detach()
        return loss.detach()

    return [[step(k % 3, normal(7, 5, 5)) for k in range(2 * STEPS)], pool]
