"""Training scripts that differ in the method: adversaries, agents, physics, meta-learning, ..."""

from __future__ import annotations

import collections
import math
import random

import numpy as np

import numbagrad as torch
from numbagrad import nn, optim
from numbagrad.func import functional_call, grad, hessian, jacrev, stack_module_state, vmap
from scripts_tools import STEPS, mlp, normal, script, whole

F = nn.functional


@script
def generative_adversaries(compile):
    generator, critic = mlp(2, 6, 3), mlp(3, 6, 1, act=nn.Tanh)
    a, b = optim.Adam(generator.parameters(), 0.01), optim.Adam(critic.parameters(), 0.01)

    @compile
    def step(real):
        fake = generator(torch.randn(len(real), 2))
        b.zero_grad()
        loss = F.softplus(-critic(real)).mean() + F.softplus(critic(fake.detach())).mean()
        loss.backward()
        b.step()
        a.zero_grad()
        other = F.softplus(-critic(fake)).mean()
        other.backward()
        a.step()
        return loss.detach(), other.detach()

    return [[step(normal(k, 5, 3)) for k in range(STEPS)], dict(generator.state_dict())]


@script
def critic_with_clipped_weights(compile):
    generator, critic = mlp(2, 6, 3), mlp(3, 6, 1)
    a, b = optim.RMSprop(generator.parameters(), 0.01), optim.RMSprop(critic.parameters(), 0.01)
    n = [0]

    @compile
    def step(real):
        b.zero_grad()
        with torch.no_grad():
            fake = generator(torch.randn(len(real), 2))
        (critic(fake).mean() - critic(real).mean()).backward()
        b.step()
        for p in critic.parameters():
            p.data.clamp_(-0.1, 0.1)
        n[0] += 1
        if n[0] % 3 == 0:
            a.zero_grad()
            (-critic(generator(torch.randn(4, 2))).mean()).backward()
            a.step()

    for k in range(STEPS):
        step(normal(k, 4, 3))
    return [n, dict(generator.state_dict()), dict(critic.state_dict())]


@script
def gradient_penalty(compile):
    critic = mlp(3, 6, 1, act=nn.Tanh)
    optimizer = optim.Adam(critic.parameters(), 0.01)

    @compile
    def step(real, fake):
        weight = torch.rand(len(real), 1)
        x = (weight * real + (1 - weight) * fake).requires_grad_(True)
        (g,) = torch.autograd.grad(critic(x).sum(), x, create_graph=True)
        optimizer.zero_grad()
        penalty = ((g.norm(dim=1) - 1) ** 2).mean()
        (critic(fake).mean() - critic(real).mean() + 10 * penalty).backward()
        optimizer.step()
        return penalty.detach()

    return [
        [step(normal(k, 4, 3), normal(k + 50, 4, 3)) for k in range(STEPS)],
        dict(critic.state_dict()),
    ]


class Walk:
    """An environment: a walk on a line that ends at its ends."""

    def __init__(self):
        self.at, self.steps, self.episodes = 0, 0, 0

    def reset(self):
        self.at, self.steps = 0, 0
        self.episodes += 1
        return self.observe()

    def observe(self):
        return torch.tensor([self.at / 3, self.steps / 10])

    def step(self, action):
        self.at += 1 if action else -1
        self.steps += 1
        done = abs(self.at) >= 3 or self.steps >= 10
        return self.observe(), float(self.at), done


@script
def policy_gradient_with_an_environment(compile):
    policy, env = mlp(2, 6, 2), Walk()
    optimizer = optim.Adam(policy.parameters(), 0.05)

    @compile
    def episode():
        logs, rewards, state, done = [], [], env.reset(), False
        while not done:
            log = policy(state).log_softmax(0)
            action = int(torch.multinomial(log.exp(), 1))
            state, reward, done = env.step(action)
            logs.append(log[action])
            rewards.append(reward)
        optimizer.zero_grad()
        loss = -(torch.stack(logs) * torch.tensor(rewards)).mean()
        loss.backward()
        optimizer.step()
        return sum(rewards)

    return [[episode() for _ in range(STEPS)], env.episodes, dict(policy.state_dict())]


@script
def one_step_of_an_environment_a_call(compile):
    policy, env = mlp(2, 6, 2), Walk()
    optimizer = optim.SGD(policy.parameters(), 0.1)
    env.reset()
    memory = []

    @compile
    def step():
        state = env.observe()
        log = policy(state).log_softmax(0)
        action = int(log.argmax())
        _, reward, done = env.step(action)
        optimizer.zero_grad()
        (-log[action] * reward).backward()
        optimizer.step()
        memory.append((action, reward, done))
        if done:
            env.reset()
        return log.detach()

    return [[step() for _ in range(2 * STEPS)], memory, env.episodes]


@script
def q_learning_with_a_replay_buffer(compile):
    net, target = mlp(2, 6, 2), mlp(2, 6, 2)
    target.load_state_dict(net.state_dict())
    optimizer, buffer = optim.Adam(net.parameters(), 0.01), collections.deque(maxlen=20)
    state = {"n": 0, "epsilon": 1.0}

    @compile
    def learn(s, a, r, after, done):
        with torch.no_grad():
            goal = r + 0.9 * (1 - done) * target(after).amax(1)
        optimizer.zero_grad()
        loss = F.smooth_l1_loss(net(s).gather(1, a[:, None])[:, 0], goal)
        loss.backward()
        optimizer.step()
        state["n"] += 1
        state["epsilon"] *= 0.9
        if state["n"] % 3 == 0:
            target.load_state_dict(net.state_dict())
        return loss.detach()

    for k in range(20):
        s = normal(k, 2)
        buffer.append((s, k % 2, float(s[0]), normal(k + 1, 2), float(k % 5 == 0)))
    losses = []
    for _ in range(STEPS):
        s, a, r, after, done = zip(*random.sample(list(buffer), 6), strict=True)
        losses.append(
            learn(torch.stack(s), torch.tensor(a), torch.tensor(r), torch.stack(after),
                  torch.tensor(done))
        )  # fmt: skip
    return [losses, state, dict(target.state_dict())]


@script
def actor_and_critic(compile):
    body, actor, critic = mlp(3, 6), nn.Linear(6, 2), nn.Linear(6, 1)
    net = nn.ModuleList([body, actor, critic])
    optimizer = optim.Adam(net.parameters(), 0.01)

    @compile
    def step(s, a, returns):
        h = torch.tanh(body(s))
        log, value = actor(h).log_softmax(1), critic(h)[:, 0]
        advantage = returns - value.detach()
        chosen = log.gather(1, a[:, None])[:, 0]
        entropy = -(log.exp() * log).sum(1).mean()
        loss = -(chosen * advantage).mean() + 0.5 * F.mse_loss(value, returns) - 0.01 * entropy
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 0.5)
        optimizer.step()
        return loss.detach(), entropy.detach()

    return [step(normal(k, 6, 3), whole(k, 2, 6), normal(k + 5, 6)) for k in range(STEPS)]


@script
def proximal_policy_with_early_exit(compile):
    policy = mlp(3, 6, 2, act=nn.Tanh)
    optimizer = optim.Adam(policy.parameters(), 0.05)
    epochs = []

    @compile
    def update(s, a, advantage):
        with torch.no_grad():
            old = policy(s).log_softmax(1).gather(1, a[:, None])[:, 0]
        for epoch in range(4):
            new = policy(s).log_softmax(1).gather(1, a[:, None])[:, 0]
            ratio = (new - old).exp()
            if (old - new).mean() > 0.02:
                break
            loss = -torch.minimum(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        epochs.append(epoch)

    for k in range(STEPS):
        update(normal(k, 6, 3), whole(k, 2, 6), normal(k + 9, 6))
    return [epochs, dict(policy.state_dict())]


@script
def bandit_with_numpy(compile):
    values, counts, draw = torch.zeros(3), [0, 0, 0], np.random.default_rng(1)

    @compile
    def pull():
        arm = int(draw.integers(3)) if draw.random() < 0.5 else int(values.argmax())
        counts[arm] += 1
        reward = draw.normal(arm)
        values[arm] += (reward - values[arm]) / counts[arm]
        return arm

    return [[pull() for _ in range(2 * STEPS)], counts, values]


@script
def evolution_strategy(compile):
    w = torch.zeros(4)

    @compile
    def step(target):
        noise = torch.randn(6, 4)
        scores = -((w + 0.1 * noise) - target).square().sum(1)
        scores = (scores - scores.mean()) / (scores.std() + 1e-8)
        w.add_(scores @ noise, alpha=0.02)
        return scores.max()

    return [[step(normal(0, 4)) for _ in range(STEPS)], w]


@script
def learning_to_learn(compile):
    net = mlp(1, 6, 1, act=nn.Tanh)
    optimizer = optim.Adam(net.parameters(), 0.01)

    def loss_of(weights, x, y):
        return F.mse_loss(functional_call(net, weights, (x,)), y)

    @compile
    def step(x, y, x2, y2):
        weights = dict(net.named_parameters())
        gradients = torch.autograd.grad(
            loss_of(weights, x, y), list(weights.values()), create_graph=True
        )
        fast = {n: p - 0.1 * g for (n, p), g in zip(weights.items(), gradients, strict=True)}
        optimizer.zero_grad()
        loss = loss_of(fast, x2, y2)
        loss.backward()
        optimizer.step()
        return loss.detach()

    return [[step(*(normal(4 * k + j, 5, 1) for j in range(4))) for k in range(STEPS)],
            dict(net.state_dict())]  # fmt: skip


@script
def learning_to_learn_by_func(compile):
    net = mlp(1, 6, 1, act=nn.Tanh)
    weights = {n: p.detach().clone() for n, p in net.named_parameters()}

    def loss_of(w, x, y):
        return F.mse_loss(functional_call(net, w, (x,)), y)

    def after_step(w, x, y):
        g = grad(loss_of)(w, x, y)
        return loss_of({n: w[n] - 0.1 * g[n] for n in w}, x, y)

    @compile
    def step(w, x, y):
        g = grad(after_step)(w, x, y)
        return {n: w[n] - 0.05 * g[n] for n in w}

    for k in range(STEPS):
        weights = step(weights, normal(k, 5, 1), normal(k + 9, 5, 1))
    return weights


@script
def moving_towards_adapted_weights(compile):
    net = mlp(2, 4, 1)

    @compile
    def step(x, y):
        before = [p.detach().clone() for p in net.parameters()]
        for _ in range(2):
            grads = torch.autograd.grad(F.mse_loss(net(x), y), [*net.parameters()])
            with torch.no_grad():
                for p, g in zip(net.parameters(), grads, strict=True):
                    p.sub_(g, alpha=0.1)
        with torch.no_grad():
            for p, old in zip(net.parameters(), before, strict=True):
                p.copy_(old + 0.5 * (p - old))

    for k in range(STEPS):
        step(normal(k, 5, 2), normal(k + 9, 5, 1))
    return dict(net.state_dict())


@script
def physics_of_an_oscillator(compile):
    net = mlp(1, 8, 1, act=nn.Tanh)
    stiffness = nn.Parameter(torch.tensor(1.0))
    optimizer = optim.Adam([*net.parameters(), stiffness], 0.01)

    @compile
    def step(t):
        t = t.requires_grad_(True)
        u = net(t)
        (du,) = torch.autograd.grad(u.sum(), t, create_graph=True)
        (ddu,) = torch.autograd.grad(du.sum(), t, create_graph=True)
        loss = (ddu + stiffness * u).square().mean() + (net(torch.zeros(1, 1)) - 1).square().sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.detach()

    return [[step(normal(k, 6, 1)) for k in range(STEPS)], stiffness]


@script
def heat_equation_with_derivatives_by_func(compile):
    net = mlp(2, 6, 1, act=nn.Tanh)
    weights = {n: p.detach().clone() for n, p in net.named_parameters()}

    def residual(w, point):
        u = lambda z: functional_call(net, w, (z,))[0]  # noqa: E731
        return grad(u)(point)[1] - hessian(u)(point)[0, 0]

    @compile
    def step(w, points):
        g = grad(lambda w: vmap(lambda p: residual(w, p))(points).square().mean())(w)
        return {n: w[n] - 0.01 * g[n] for n in w}

    for k in range(STEPS):
        weights = step(weights, normal(k, 5, 2))
    return weights


@script
def energy_of_a_pendulum(compile):
    net = mlp(2, 6, 1, act=nn.Tanh)
    optimizer = optim.Adam(net.parameters(), 0.01)

    @compile
    def step(q, p, dq, dp):
        z = torch.stack([q, p], 1).requires_grad_()
        (g,) = torch.autograd.grad(net(z).sum(), z, create_graph=True)
        loss = (g[:, 1] - dq).square().mean() + (g[:, 0] + dp).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.detach()

    return [step(*(normal(k + j, 6) for j in range(4))) for k in range(STEPS)]


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


@script
def equilibrium_layer(compile):
    a, b = nn.Linear(4, 4), nn.Linear(3, 4)
    optimizer = optim.SGD([*a.parameters(), *b.parameters()], 0.05)
    iterations = []

    @compile
    def step(x):
        with torch.no_grad():
            z = torch.zeros(len(x), 4)
            for n in range(10):
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
