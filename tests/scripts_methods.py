"""Training scripts of representations, distributions, games with inputs, and solvers."""

from __future__ import annotations

import math

from scripts_tools import STEPS, mlp, normal, script, whole

import numbagrad as torch
from numbagrad import nn, optim
from numbagrad.func import functional_call, grad, hessian, jacrev, stack_module_state, vmap

F = nn.functional


@script
def contrastive_pairs(compile):
    net, temperature = mlp(4, 6, 3), nn.Parameter(torch.tensor(1.0))
    optimizer = optim.AdamW([*net.parameters(), temperature], 0.01)

    @compile
    def step(x):
        a = F.normalize(net(x + 0.1 * torch.randn_like(x)))
        b = F.normalize(net(x + 0.1 * torch.randn_like(x)))
        logits = a @ b.t() * temperature.exp()
        y = torch.arange(len(x))
        loss = (F.cross_entropy(logits, y) + F.cross_entropy(logits.t(), y)) / 2
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            temperature.clamp_(-2, 3)
        return loss.detach()

    return [[step(normal(k, 5, 4)) for k in range(STEPS)], temperature]


@script
def teacher_that_follows(compile):
    online, target, predictor = mlp(4, 6, 3), mlp(4, 6, 3), nn.Linear(3, 3)
    target.load_state_dict(online.state_dict())
    target.requires_grad_(False)
    optimizer = optim.SGD([*online.parameters(), *predictor.parameters()], 0.1)

    @compile
    def step(x, momentum):
        with torch.no_grad():
            goal = F.normalize(target(x))
        loss = 2 - 2 * (F.normalize(predictor(online(x + 0.1))) * goal).sum(1).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            for a, b in zip(online.parameters(), target.parameters(), strict=True):
                b.mul_(momentum).add_(a, alpha=1 - momentum)
        return loss.detach()

    return [
        [step(normal(k, 5, 4), 1 - 0.1 * (math.cos(k / 8) + 1) / 2) for k in range(STEPS)],
        dict(target.state_dict()),
    ]


@script
def queue_of_negatives(compile):
    net, queue, at = mlp(4, 3), F.normalize(normal(99, 12, 3)), [0]
    optimizer = optim.SGD(net.parameters(), 0.1)

    @compile
    def step(x):
        made = F.normalize(net(x))
        near = (made * F.normalize(net(x + 0.1)).detach()).sum(1, keepdim=True)
        logits = torch.cat([near, made @ queue.t()], 1) / 0.2
        loss = F.cross_entropy(logits, torch.zeros(len(x), dtype=torch.long))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        queue[at[0] : at[0] + len(x)] = made.detach()
        at[0] = (at[0] + len(x)) % len(queue)
        return loss.detach()

    return [[step(normal(k, 4, 4)) for k in range(STEPS)], queue, at]


@script
def triplets_that_are_mined(compile):
    net = mlp(4, 6, 2)
    optimizer = optim.Adam(net.parameters(), 0.01)

    @compile
    def step(x, y):
        made = net(x)
        distance = (made[:, None] - made[None]).square().sum(2)
        same = y[:, None] == y[None]
        far = (distance * same).amax(1)
        near = distance.masked_fill(same, 1e6).amin(1)
        loss = F.relu(far - near.clamp(max=100) + 0.5).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.detach()

    return [step(normal(k, 8, 4), whole(k, 2, 8)) for k in range(STEPS)]


@script
def distilled(compile):
    teacher, student = mlp(4, 8, 3).eval(), mlp(4, 4, 3)
    optimizer = optim.SGD(student.parameters(), 0.1)

    @compile
    def step(x, y, temperature):
        with torch.no_grad():
            soft = (teacher(x) / temperature).softmax(1)
        out = student(x)
        loss = F.kl_div((out / temperature).log_softmax(1), soft, reduction="batchmean")
        loss = loss * temperature**2 + F.cross_entropy(out, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.detach()

    return [step(normal(k, 5, 4), whole(k, 3, 5), 4.0 - 0.3 * k) for k in range(STEPS)]


@script
def reversed_gradients(compile):
    strength = {"value": 0.0}

    class Reverse(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            return -strength["value"] * g

    body, label, domain = mlp(4, 6), nn.Linear(6, 3), nn.Linear(6, 2)
    net = nn.ModuleList([body, label, domain])
    optimizer = optim.SGD(net.parameters(), 0.1)

    @compile
    def step(x, y, d):
        h = body(x).relu()
        loss = F.cross_entropy(label(h), y) + F.cross_entropy(domain(Reverse.apply(h)), d)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.detach()

    losses = []
    for k in range(STEPS):
        strength["value"] = 2 / (1 + math.exp(-k)) - 1
        losses.append(step(normal(k, 5, 4), whole(k, 3, 5), whole(k + 1, 2, 5)))
    return [losses, dict(net.state_dict())]


@script
def straight_through(compile):
    class Sign(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x.sign()

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * (x.abs() <= 1)

    first, second = nn.Linear(4, 6), nn.Linear(6, 3)
    optimizer = optim.Adam([*first.parameters(), *second.parameters()], 0.01)

    @compile
    def step(x, y):
        h = F.linear(x, Sign.apply(first.weight), first.bias)
        loss = F.cross_entropy(second(Sign.apply(h)), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.detach()

    return [[step(normal(k, 5, 4), whole(k, 3, 5)) for k in range(STEPS)],
            dict(first.state_dict())]  # fmt: skip


@script
def discrete_codes(compile):
    encoder, decoder = mlp(4, 6), mlp(6, 4)
    codes = nn.Parameter(normal(5, 5, 6))
    optimizer = optim.Adam([*encoder.parameters(), *decoder.parameters(), codes], 0.01)
    used = torch.zeros(5, dtype=torch.int64)

    @compile
    def step(x):
        z = encoder(x)
        which = torch.cdist(z, codes).argmin(1)
        q = codes[which]
        loss = (q - z.detach()).square().mean() + 0.25 * (q.detach() - z).square().mean()
        loss = loss + F.mse_loss(decoder(z + (q - z).detach()), x)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        used.add_(torch.bincount(which, minlength=5))
        return loss.detach()

    return [[step(normal(k, 5, 4)) for k in range(STEPS)], used]


@script
def gumbel_choices_that_cool(compile):
    net, values = mlp(3, 4), nn.Parameter(torch.zeros(4))
    optimizer = optim.SGD([*net.parameters(), values], 0.1)

    @compile
    def step(x, tau):
        choice = F.gumbel_softmax(net(x), tau=tau, hard=True)
        loss = ((choice * values).sum(1) - x.sum(1)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.detach()

    return [[step(normal(k, 6, 3), max(0.5, 0.9**k)) for k in range(STEPS)], values]


@script
def ensemble_by_vmap(compile):
    nets = [mlp(3, 5, 1) for _ in range(3)]
    weights, buffers = stack_module_state(nets)
    base = nets[0]

    def loss_of(w, b, x, y):
        return F.mse_loss(functional_call(base, (w, b), (x,)), y)

    @compile
    def step(w, x, y):
        g = vmap(grad(loss_of), in_dims=(0, 0, None, None))(w, buffers, x, y)
        return {n: w[n] - 0.1 * g[n] for n in w}

    weights = {n: w.detach() for n, w in weights.items()}
    for k in range(STEPS):
        weights = step(weights, normal(k, 5, 3), normal(k + 9, 5, 1))
    return weights


@script
def bayes_by_backprop(compile):
    mean, rho = nn.Parameter(torch.zeros(3, 4)), nn.Parameter(torch.full((3, 4), -3.0))
    optimizer = optim.Adam([mean, rho], 0.05)

    @compile
    def step(x, y):
        sigma = F.softplus(rho)
        w = mean + sigma * torch.randn_like(mean)
        kl = (sigma.square() + mean.square() - 1 - 2 * sigma.log()).sum() / 2
        loss = F.cross_entropy(x @ w.t(), y) + kl / 100
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.detach()

    return [[step(normal(k, 5, 4), whole(k, 3, 5)) for k in range(STEPS)], mean, rho]


@script
def langevin_sampling(compile):
    w, samples = torch.zeros(3), []

    @compile
    def step(rate):
        x = w.detach().requires_grad_()
        energy = (x**4 - x**2).sum()
        (g,) = torch.autograd.grad(energy, x)
        w.add_(-rate * g + math.sqrt(2 * rate) * torch.randn(3))
        return energy.detach()

    for k in range(STEPS):
        energy = step(0.1 / (1 + k))
        samples.append((w.clone(), energy))
    return samples


@script
def diffusion(compile):
    net, betas = mlp(3, 8, 2, act=nn.SiLU), torch.linspace(1e-2, 0.3, 10)
    keep = torch.cumprod(1 - betas, 0)
    optimizer = optim.AdamW(net.parameters(), 0.01)

    @compile
    def step(x):
        t = torch.randint(0, 10, (len(x),))
        noise = torch.randn_like(x)
        a = keep[t][:, None]
        noisy = a.sqrt() * x + (1 - a).sqrt() * noise
        loss = F.mse_loss(net(torch.cat([noisy, t[:, None] / 10], 1)), noise)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.detach()

    return [[step(normal(k, 6, 2)) for k in range(STEPS)], dict(net.state_dict())]


@script
def masked_words(compile):
    net = nn.Sequential(nn.Embedding(9, 4), nn.Linear(4, 9))
    optimizer = optim.Adam(net.parameters(), 0.05)

    @compile
    def step(x):
        chosen = torch.rand(x.shape) < 0.3
        y = x.masked_fill(~chosen, -100)
        out = net(x.masked_fill(chosen, 8))
        loss = F.cross_entropy(out.reshape(-1, 9), y.reshape(-1), ignore_index=-100)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.detach()

    return [step(whole(k, 8, 4, 6)) for k in range(STEPS)]


@script
def connectionist_labels(compile):
    gru, head = nn.GRU(3, 5), nn.Linear(5, 4)
    net = nn.ModuleList([gru, head])
    optimizer = optim.Adam(net.parameters(), 0.02)

    @compile
    def step(x, y):
        log = head(gru(x)[0]).log_softmax(2)
        lengths = torch.full((x.shape[1],), x.shape[0], dtype=torch.long)
        loss = F.ctc_loss(log, y, lengths, torch.full_like(lengths, y.shape[1]))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.detach()

    return [step(normal(k, 7, 3, 3), 1 + whole(k, 3, 3, 2)) for k in range(STEPS)]


@script
def random_field_by_a_loop(compile):
    emit, move = nn.Linear(4, 3), nn.Parameter(torch.zeros(3, 3))
    optimizer = optim.SGD([*emit.parameters(), move], 0.1)

    @compile
    def step(x, y):
        scores = emit(x)
        forward, path = scores[0], scores[0, y[0]]
        for t in range(1, len(x)):
            forward = torch.logsumexp(forward[:, None] + move, 0) + scores[t]
            path = path + move[y[t - 1], y[t]] + scores[t, y[t]]
        loss = torch.logsumexp(forward, 0) - path
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.detach()

    return [[step(normal(k, 6, 4), whole(k, 3, 6)) for k in range(STEPS)], move]


@script
def rates_that_are_learned(compile):
    w, log_rate = nn.Parameter(torch.ones(3)), nn.Parameter(torch.tensor(-2.0))
    outer = optim.Adam([log_rate], 0.1)

    @compile
    def step(x, y):
        inner = ((x @ w) - y).square().mean()
        (g,) = torch.autograd.grad(inner, w, create_graph=True)
        moved = w - log_rate.exp() * g
        outer.zero_grad()
        loss = ((x @ moved) - y).square().mean()
        loss.backward(inputs=[log_rate])
        outer.step()
        with torch.no_grad():
            w.copy_(moved)
        return loss.detach()

    return [[step(normal(k, 5, 3), normal(k + 9, 5)) for k in range(STEPS)], w, log_rate]


@script
def newton_by_hand(compile):
    @compile
    def step(w, x, y):
        def loss(w):
            return F.softplus(-(x @ w) * y).mean() + 0.1 * w.square().sum()

        return w - torch.linalg.solve(hessian(loss)(w), grad(loss)(w))

    w = torch.zeros(3)
    for k in range(STEPS):
        w = step(w, normal(k, 6, 3), normal(k + 9, 6).sign())
    return w


@script
def least_squares_by_jacobians(compile):
    @compile
    def step(w, x, y):
        def residual(w):
            return w[0] * (-w[1] * x).exp() - y

        j, r = jacrev(residual)(w), residual(w)
        return w - torch.linalg.solve(j.t() @ j + 0.1 * torch.eye(2), j.t() @ r)

    w = torch.ones(2)
    for k in range(STEPS):
        w = step(w, normal(k, 6).abs(), normal(k + 9, 6))
    return w


@script
def federated_average(compile):
    shared = mlp(3, 1)
    clients = [mlp(3, 1) for _ in range(3)]
    rounds = []

    @compile
    def one_round(xs, ys):
        for client, x, y in zip(clients, xs, ys, strict=True):
            client.load_state_dict(shared.state_dict())
            grads = torch.autograd.grad(F.mse_loss(client(x), y), [*client.parameters()])
            with torch.no_grad():
                for p, g in zip(client.parameters(), grads, strict=True):
                    p.sub_(0.1 * g)
        with torch.no_grad():
            for p, *others in zip(
                shared.parameters(), *[c.parameters() for c in clients], strict=True
            ):
                p.copy_(sum(others) / len(others))
        rounds.append(len(rounds))

    for k in range(STEPS):
        one_round([normal(3 * k + j, 4, 3) for j in range(3)], [normal(j, 4, 1) for j in range(3)])
    return [rounds, dict(shared.state_dict())]


@script
def weights_of_tasks_learned(compile):
    body, heads = mlp(4, 6), nn.ModuleDict({n: nn.Linear(6, 1) for n in ("a", "b", "c")})
    spread = nn.ParameterDict({n: nn.Parameter(torch.zeros(())) for n in heads})
    active = ["a", "b"]
    optimizer = optim.Adam([*body.parameters(), *heads.parameters(), *spread.parameters()], 0.01)

    @compile
    def step(x):
        h, losses = body(x).relu(), {}
        for n in active:
            losses[n] = (heads[n](h)[:, 0] - x[:, 0]).square().mean()
        total = sum(v * (-spread[n]).exp() + spread[n] for n, v in losses.items())
        optimizer.zero_grad()
        total.backward()
        optimizer.step()
        return {n: v.detach() for n, v in losses.items()}

    found = []
    for k in range(STEPS):
        if k == 4:
            active.append("c")
        found.append(step(normal(k, 5, 4)))
    return [found, dict(spread.state_dict())]


@script
def adversarial_examples(compile):
    net = mlp(4, 6, 3)
    optimizer = optim.SGD(net.parameters(), 0.1)

    @compile
    def step(x, y, size):
        moved = x.clone()
        for _ in range(2):
            moved = moved.detach().requires_grad_()
            (g,) = torch.autograd.grad(F.cross_entropy(net(moved), y), moved)
            moved = (x + (moved + size * g.sign() - x).clamp(-0.2, 0.2)).detach()
        optimizer.zero_grad()
        loss = F.cross_entropy(net(moved), y)
        loss.backward()
        optimizer.step()
        return loss.detach()

    return [[step(normal(k, 5, 4), whole(k, 3, 5), 0.02 * k) for k in range(STEPS)],
            dict(net.state_dict())]  # fmt: skip


@script
def inputs_that_are_optimised(compile):
    net = mlp(4, 6, 3).requires_grad_(False)
    x = torch.zeros(1, 4, requires_grad=True)
    optimizer = optim.Adam([x], 0.1)

    @compile
    def step(goal):
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x), goal) + 0.01 * x.square().sum()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            x.clamp_(-1, 1)
        return loss.detach()

    return [[step(torch.tensor([k // 4])) for k in range(STEPS)], x]


@script
def gram_matrices(compile):
    net = nn.Conv2d(1, 3, 3).requires_grad_(False)
    image = normal(1, 1, 1, 5, 5).requires_grad_()
    optimizer = optim.SGD([image], 0.5)

    def gram(x):
        x = net(x).relu().flatten(2)[0]
        return x @ x.t() / x.numel()

    style = gram(normal(2, 1, 1, 5, 5))

    @compile
    def step(weight):
        optimizer.zero_grad()
        loss = weight * (gram(image) - style).square().sum()
        loss.backward()
        optimizer.step()
        return loss.detach()

    return [[step(1.0 + k) for k in range(STEPS)], image]


@script
def gaussian_process(compile):
    log_scale, log_noise = nn.Parameter(torch.zeros(())), nn.Parameter(torch.tensor(-1.0))
    optimizer = optim.Adam([log_scale, log_noise], 0.1)

    @compile
    def step(x, y):
        distance = (x[:, None] - x[None]).square()
        cov = (-distance / (2 * (2 * log_scale).exp())).exp() + log_noise.exp() * torch.eye(len(x))
        chol = torch.linalg.cholesky(cov)
        half = torch.linalg.solve_triangular(chol, y[:, None], upper=False)
        loss = 0.5 * half.square().sum() + chol.diagonal().log().sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.detach()

    return [[step(normal(1, 6), normal(2, 6)) for k in range(STEPS)], log_scale, log_noise]


@script
def soft_clusters(compile):
    centers = normal(3, 3, 2)

    @compile
    def step(x):
        weight = (-torch.cdist(x, centers)).softmax(1)
        centers.copy_((weight.t() @ x) / weight.sum(0)[:, None])
        return weight.argmax(1).bincount(minlength=3)

    return [[step(normal(9, 12, 2)) for _ in range(STEPS)], centers]


@script
def sparse_codes(compile):
    dictionary = nn.Parameter(F.normalize(normal(1, 6, 4)))
    optimizer = optim.SGD([dictionary], 0.1)

    @compile
    def step(x, threshold):
        with torch.no_grad():
            z = torch.zeros(len(x), 6)
            for _ in range(4):
                z = F.softshrink(z + 0.2 * (x - z @ dictionary) @ dictionary.t(), threshold)
        optimizer.zero_grad()
        loss = F.mse_loss(z @ dictionary, x)
        loss.backward()
        optimizer.step()
        dictionary.data = F.normalize(dictionary.data)
        return loss.detach(), (z != 0).sum()

    return [[step(normal(k, 5, 4), 0.1) for k in range(STEPS)], dictionary]
