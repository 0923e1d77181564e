"""Training scripts that differ in the optimizer, the schedule, and who changes what when."""

from __future__ import annotations

from scripts_tools import STEPS, mlp, normal, script, scripts, whole

import numbagrad as torch
from numbagrad import nn, optim

F = nn.functional
lr_scheduler = optim.lr_scheduler

OPTIMIZERS = {
    "sgd": lambda p: optim.SGD(p, 0.1),
    "sgd-momentum": lambda p: optim.SGD(p, 0.1, momentum=0.9, dampening=0.1),
    "sgd-nesterov": lambda p: optim.SGD(p, 0.1, momentum=0.9, nesterov=True, weight_decay=0.01),
    "sgd-maximize": lambda p: optim.SGD(p, 0.01, maximize=True),
    "adam": lambda p: optim.Adam(p, 0.01),
    "adam-amsgrad": lambda p: optim.Adam(p, 0.01, amsgrad=True, weight_decay=0.01),
    "adamw": lambda p: optim.AdamW(p, 0.01),
    "adamax": lambda p: optim.Adamax(p, 0.01),
    "nadam": lambda p: optim.NAdam(p, 0.01),
    "radam": lambda p: optim.RAdam(p, 0.01),
    "adagrad": lambda p: optim.Adagrad(p, 0.1),
    "adadelta": lambda p: optim.Adadelta(p, 1.0),
    "rmsprop": lambda p: optim.RMSprop(p, 0.01, momentum=0.5, centered=True),
    "rprop": lambda p: optim.Rprop(p, 0.01),
    "asgd": lambda p: optim.ASGD(p, 0.1),
    "adafactor": lambda p: optim.Adafactor(p, 0.1, weight_decay=0.1),
    "muon": lambda p: optim.Muon([x for x in p if x.dim() == 2], 0.02),
}


def optimizer(compile, make):
    """One network; the optimizer does the rest, and its state is compared."""
    net = mlp(4, 6, 3)
    made = make(net.parameters())

    @compile
    def step(x, y):
        made.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        made.step()
        return loss.detach()

    losses = [step(normal(k, 5, 4), whole(k, 3, 5)) for k in range(STEPS)]
    return [losses, dict(net.state_dict()), made.state_dict()["state"]]


scripts(optimizer, OPTIMIZERS)

SCHEDULES = {
    "step": lambda o: lr_scheduler.StepLR(o, 3, 0.5),
    "multi-step": lambda o: lr_scheduler.MultiStepLR(o, [2, 5]),
    "exponential": lambda o: lr_scheduler.ExponentialLR(o, 0.8),
    "cosine": lambda o: lr_scheduler.CosineAnnealingLR(o, 6),
    "restarts": lambda o: lr_scheduler.CosineAnnealingWarmRestarts(o, 3),
    "linear": lambda o: lr_scheduler.LinearLR(o, total_iters=5),
    "constant": lambda o: lr_scheduler.ConstantLR(o, total_iters=3),
    "polynomial": lambda o: lr_scheduler.PolynomialLR(o, 6),
    "lambda": lambda o: lr_scheduler.LambdaLR(o, lambda k: 1 / (1 + k)),
    "multiplicative": lambda o: lr_scheduler.MultiplicativeLR(o, lambda k: 0.9),
    "cyclic": lambda o: lr_scheduler.CyclicLR(o, 0.01, 0.1, 3),
    "one-cycle": lambda o: lr_scheduler.OneCycleLR(o, 0.1, total_steps=20),
    "sequential": lambda o: lr_scheduler.SequentialLR(
        o, [lr_scheduler.LinearLR(o, total_iters=3), lr_scheduler.StepLR(o, 1)], [3]
    ),
    "chained": lambda o: lr_scheduler.ChainedScheduler(
        [lr_scheduler.ConstantLR(o, total_iters=3), lr_scheduler.ExponentialLR(o, 0.9)]
    ),
}


def schedule_outside(compile, make):
    """The schedule steps between calls."""
    net = mlp(4, 3)
    made = optim.SGD(net.parameters(), 0.1, momentum=0.5)
    schedule = make(made)

    @compile
    def step(x, y):
        made.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        made.step()
        return loss.detach()

    found = []
    for k in range(STEPS):
        found.append([step(normal(k, 5, 4), whole(k, 3, 5)), made.param_groups[0]["lr"]])
        schedule.step()
    return [found, dict(net.state_dict())]


def schedule_inside(compile, make):
    """The schedule steps inside of the call."""
    net = mlp(4, 3)
    made = optim.Adam(net.parameters(), 0.1, betas=(0.9, 0.99))
    schedule = make(made)

    @compile
    def step(x, y):
        made.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        made.step()
        schedule.step()
        return loss.detach()

    found = []
    for k in range(STEPS):
        loss = step(normal(k, 5, 4), whole(k, 3, 5))
        found.append([loss, made.param_groups[0]["lr"], schedule.last_epoch])
    return [found, dict(net.state_dict())]


scripts(schedule_outside, SCHEDULES)
scripts(schedule_inside, {k: v for k, v in SCHEDULES.items() if k not in ("chained",)})


@script
def plateau_inside(compile):
    net = mlp(4, 3)
    made = optim.SGD(net.parameters(), 0.5)
    schedule = lr_scheduler.ReduceLROnPlateau(made, patience=1, factor=0.5)

    @compile
    def step(x, y):
        made.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        made.step()
        schedule.step(loss.item())
        return loss.detach()

    found = [
        [step(normal(k, 5, 4), whole(k, 3, 5)), made.param_groups[0]["lr"]] for k in range(STEPS)
    ]
    return [found, schedule.num_bad_epochs, dict(net.state_dict())]


@script
def groups_by_layer(compile):
    net = mlp(4, 6, 6, 3)
    layers = [each for each in net if isinstance(each, nn.Linear)]
    made = optim.SGD(
        [{"params": each.parameters(), "lr": 0.1 * 0.5**n} for n, each in enumerate(layers)], 0.1
    )

    @compile
    def step(x, y, decay):
        for group in made.param_groups:
            group["lr"] *= decay
        made.zero_grad(set_to_none=False)
        F.cross_entropy(net(x), y).backward()
        made.step()

    for k in range(STEPS):
        step(normal(k, 5, 4), whole(k, 3, 5), 0.9)
    return [[group["lr"] for group in made.param_groups], dict(net.state_dict())]


@script
def two_optimizers(compile):
    body, head = mlp(4, 6), nn.Linear(6, 3)
    slow, fast = optim.Adam(body.parameters(), 1e-3), optim.SGD(head.parameters(), 0.5)

    @compile
    def step(x, y):
        loss = F.cross_entropy(head(body(x).relu()), y)
        for each in (slow, fast):
            each.zero_grad()
        loss.backward()
        for each in (slow, fast):
            each.step()
        return loss.detach()

    return [
        [step(normal(k, 5, 4), whole(k, 3, 5)) for k in range(STEPS)],
        dict(body.state_dict()), dict(head.state_dict()),
    ]  # fmt: skip


@script
def optimizer_of_the_user(compile):
    class Lion(optim.Optimizer):
        def __init__(self, params, lr=0.01, betas=(0.9, 0.99), decay=0.01):
            super().__init__(params, {"lr": lr, "betas": betas, "decay": decay})

        @torch.no_grad()
        def step(self, closure=None):
            for group in self.param_groups:
                for p in group["params"]:
                    if p.grad is None:
                        continue
                    state = self.state[p]
                    if not state:
                        state["average"] = torch.zeros_like(p)
                    average, (a, b) = state["average"], group["betas"]
                    p.mul_(1 - group["lr"] * group["decay"])
                    p.add_((average * a + p.grad * (1 - a)).sign(), alpha=-group["lr"])
                    average.mul_(b).add_(p.grad, alpha=1 - b)

    net = mlp(4, 6, 3)
    made = Lion(net.parameters())

    @compile
    def step(x, y):
        made.zero_grad()
        F.cross_entropy(net(x), y).backward()
        made.step()

    for k in range(STEPS):
        step(normal(k, 5, 4), whole(k, 3, 5))
        if k == 4:
            made.param_groups[0]["lr"] = 0.002
    return dict(net.state_dict())


@script
def optimizer_of_the_user_with_step_count(compile):
    class Warm(optim.Optimizer):
        def __init__(self, params):
            super().__init__(params, {"lr": 0.1})

        @torch.no_grad()
        def step(self, closure=None):
            for group in self.param_groups:
                for p in group["params"]:
                    state = self.state[p]
                    state["step"] = state.get("step", 0) + 1
                    p.sub_(p.grad * group["lr"] / (1 + state["step"]) ** 0.5)

    net = mlp(4, 3)
    made = Warm(net.parameters())

    @compile
    def step(x, y):
        made.zero_grad()
        F.cross_entropy(net(x), y).backward()
        made.step()

    for k in range(STEPS):
        step(normal(k, 5, 4), whole(k, 3, 5))
    return [dict(net.state_dict()), [state["step"] for state in made.state.values()]]


@script
def momentum_by_hand(compile):
    net = mlp(4, 6, 3)
    velocity = [torch.zeros_like(p) for p in net.parameters()]

    @compile
    def step(x, y, rate):
        grads = torch.autograd.grad(F.cross_entropy(net(x), y), list(net.parameters()))
        with torch.no_grad():
            for p, v, g in zip(net.parameters(), velocity, grads, strict=True):
                v.mul_(0.9).add_(g)
                p -= rate * v

    for k in range(STEPS):
        step(normal(k, 5, 4), whole(k, 3, 5), 0.1 / (k + 1))
    return [dict(net.state_dict()), velocity]


@script
def lbfgs(compile):
    net = mlp(3, 4, 1, act=nn.Tanh)
    made = optim.LBFGS(net.parameters(), 0.5, max_iter=3, history_size=4)
    x, calls = normal(0, 8, 3), []

    @compile
    def loss_and_gradients():
        made.zero_grad()
        loss = F.mse_loss(net(x), x.prod(1, keepdim=True))
        loss.backward()
        return loss

    def closure():
        calls.append(1)
        return loss_and_gradients()

    losses = [made.step(closure).detach() for _ in range(4)]
    return [losses, len(calls), dict(net.state_dict())]


@script
def lbfgs_inside(compile):
    w = nn.Parameter(torch.ones(3))
    made = optim.LBFGS([w], 0.5, max_iter=2, line_search_fn="strong_wolfe")
    calls = []

    @compile
    def step(target):
        def closure():
            calls.append(len(calls))
            made.zero_grad()
            loss = (w - target).pow(4).sum()
            loss.backward()
            return loss

        return made.step(closure)

    losses = [step(normal(k, 3)).detach() for k in range(STEPS)]
    return [losses, calls, w]


@script
def lookahead(compile):
    net = mlp(4, 3)
    made = optim.SGD(net.parameters(), 0.2)
    slow, counter = [p.detach().clone() for p in net.parameters()], {"n": 0}

    @compile
    def step(x, y):
        made.zero_grad()
        F.cross_entropy(net(x), y).backward()
        made.step()
        counter["n"] += 1
        if counter["n"] % 3 == 0:
            with torch.no_grad():
                for s, p in zip(slow, net.parameters(), strict=True):
                    s.lerp_(p, 0.5)
                    p.copy_(s)

    for k in range(STEPS):
        step(normal(k, 5, 4), whole(k, 3, 5))
    return [slow, counter, dict(net.state_dict())]


@script
def sharpness_aware(compile):
    net = mlp(4, 5, 3)
    made = optim.SGD(net.parameters(), 0.1)

    @compile
    def step(x, y):
        made.zero_grad()
        F.cross_entropy(net(x), y).backward()
        norm = torch.stack([p.grad.norm() for p in net.parameters()]).norm()
        moves = []
        with torch.no_grad():
            for p in net.parameters():
                moves.append(p.grad * (0.05 / (norm + 1e-12)))
                p.add_(moves[-1])
        made.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        with torch.no_grad():
            for p, e in zip(net.parameters(), moves, strict=True):
                p.sub_(e)
        made.step()
        return loss.detach()

    losses = [step(normal(k, 5, 4), whole(k, 3, 5)) for k in range(STEPS)]
    return [losses, dict(net.state_dict())]


@script
def gradients_of_some_steps_missing(compile):
    a, b = nn.Linear(4, 3), nn.Linear(4, 3)
    made = optim.Adam([*a.parameters(), *b.parameters()], 0.05)

    @compile
    def step(x, y, both):
        made.zero_grad()
        F.cross_entropy(a(x) + b(x) if both else a(x), y).backward()
        made.step()

    for k in range(STEPS):
        step(normal(k, 5, 4), whole(k, 3, 5), k % 3 != 1)
    return [dict(a.state_dict()), dict(b.state_dict()), len(made.state)]


@script
def optimizer_restored_from_its_state(compile):
    net = mlp(4, 3)
    made = optim.Adam(net.parameters(), 0.05)

    @compile
    def step(x, y):
        made.zero_grad()
        F.cross_entropy(net(x), y).backward()
        made.step()

    kept = None
    for k in range(STEPS):
        if k == 3:
            kept = (
                {name: value.clone() for name, value in net.state_dict().items()},
                made.state_dict(),
            )
        if k == 6:
            net.load_state_dict(kept[0])
            made.load_state_dict(kept[1])
        step(normal(k, 5, 4), whole(k, 3, 5))
    return [dict(net.state_dict()), made.state_dict()["state"]]


@script
def group_added_while_training(compile):
    body, head = nn.Linear(4, 4), nn.Linear(4, 3)
    made = optim.SGD(head.parameters(), 0.2, momentum=0.5)

    @compile
    def step(x, y):
        made.zero_grad()
        F.cross_entropy(head(body(x).relu()), y).backward()
        made.step()

    for k in range(STEPS):
        if k == 4:
            made.add_param_group({"params": body.parameters(), "lr": 0.01})
        step(normal(k, 5, 4), whole(k, 3, 5))
    return [dict(body.state_dict()), dict(head.state_dict()), len(made.param_groups)]


@script
def rates_by_every_way_to_write_them(compile):
    net = mlp(4, 3)
    made = optim.SGD(net.parameters(), 0.5, momentum=0.9)
    names = ["lr", "momentum"]

    @compile
    def step(x, y):
        made.zero_grad()
        F.cross_entropy(net(x), y).backward()
        made.step()
        for group in made.param_groups:
            for name in names:
                group[name] *= 0.9

    for k in range(STEPS):
        step(normal(k, 5, 4), whole(k, 3, 5))
    return [[made.param_groups[0][name] for name in names], dict(net.state_dict())]


@script
def averaged_model(compile):
    net = mlp(4, 5, 3)
    average = optim.swa_utils.AveragedModel(net)
    made = optim.SGD(net.parameters(), 0.2)

    @compile
    def step(x, y):
        made.zero_grad()
        F.cross_entropy(net(x), y).backward()
        made.step()
        average.update_parameters(net)

    for k in range(STEPS):
        step(normal(k, 5, 4), whole(k, 3, 5))
    return [dict(average.state_dict()), dict(net.state_dict())]


@script
def moving_average(compile):
    net = mlp(4, 5, 3)
    shadow = {name: p.detach().clone() for name, p in net.named_parameters()}
    made = optim.AdamW(net.parameters(), 0.05)

    @compile
    def step(x, y, decay):
        made.zero_grad()
        F.cross_entropy(net(x), y).backward()
        made.step()
        with torch.no_grad():
            for name, p in net.named_parameters():
                shadow[name].mul_(decay).add_(p, alpha=1 - decay)

    for k in range(STEPS):
        step(normal(k, 5, 4), whole(k, 3, 5), min(0.9, (1 + k) / (10 + k)))
    return [shadow, dict(net.state_dict())]


@script
def moving_average_that_makes_new_tensors(compile):
    net = mlp(4, 3)
    shadow = {name: p.detach().clone() for name, p in net.named_parameters()}
    made = optim.SGD(net.parameters(), 0.2)

    @compile
    def step(x, y):
        made.zero_grad()
        F.cross_entropy(net(x), y).backward()
        made.step()
        for name, p in net.named_parameters():
            shadow[name] = 0.9 * shadow[name] + 0.1 * p.detach()

    for k in range(STEPS):
        step(normal(k, 5, 4), whole(k, 3, 5))
    return [shadow, dict(net.state_dict())]
