"""Training scripts of adversaries, agents, learners that learn, and physics."""

from __future__ import annotations

import collections
import random

import numpy as np
from scripts_tools import STEPS, mlp, normal, script, whole

import numbagrad as torch
from numbagrad import nn, optim
from numbagrad.func import functional_call, grad, hessian, vmap

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
        for epoch in range(4):  # noqa: B007 - kept below
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
