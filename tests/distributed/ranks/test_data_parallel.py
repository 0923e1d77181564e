"""Training on several ranks gives what one process gives on the whole batch, to rounding."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import numbagrad as torch
from numbagrad import distributed as dist
from numbagrad import nn
from numbagrad.distributed import reducer, shared_sums
from numbagrad.distributed.algorithms.ddp_comm_hooks import default_hooks
from numbagrad.distributed.reducer import buckets_of
from numbagrad.executor.families.matmul import matmul_into
from numbagrad.nn import operators
from numbagrad.nn.parallel import DistributedDataParallel

BATCH = 24


def network(rank=0, norm=False):
    torch.manual_seed(rank)
    layers = [nn.Linear(10, 60), nn.BatchNorm1d(60) if norm else nn.Identity(), nn.Tanh()]
    return nn.Sequential(*layers, nn.Linear(60, 40), nn.ReLU(), nn.Linear(40, 3))


def batch(step):
    numbers = np.random.default_rng(step)
    images = torch.from_numpy(numbers.normal(size=(BATCH, 10)).astype(np.float32))
    return images, torch.from_numpy(numbers.integers(0, 3, BATCH))


def stepper(model, optimizer):
    def step(images, labels):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
        return loss

    return step


def close(ours, theirs, tolerance=1e-5):
    pairs = zip(ours.parameters(), theirs.parameters(), strict=True)
    return all([torch.allclose(a, b, atol=tolerance, rtol=1e-4) for a, b in pairs])


def same_on_all_ranks(model):
    flat = torch.cat([each.detach().reshape(-1) for each in model.parameters()])
    highest, lowest = flat.clone(), flat.clone()
    dist.all_reduce(highest, dist.ReduceOp.MAX)
    dist.all_reduce(lowest, dist.ReduceOp.MIN)
    return torch.equal(highest, lowest)


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("optimizer", [torch.optim.SGD, torch.optim.AdamW])
@pytest.mark.parametrize("views", [False, True])
@pytest.mark.parametrize("compiled", [False, True])
def test_it_trains_as_one_process_does(
    world, compiled, views, optimizer, shared, recwarn, monkeypatch
):
    """With sums in memory that the ranks share, and with those of MPI, as between machines."""
    rank, size = world
    monkeypatch.setattr(shared_sums, "IS_POSSIBLE", shared)
    whole, model = network(), network(rank)
    parallel = DistributedDataParallel(model, bucket_cap_mb=0.005, gradient_as_bucket_view=views)
    assert same_on_all_ranks(model) and len(parallel.reducer.buckets) > 1
    alone = stepper(whole, optimizer(whole.parameters(), lr=0.05 if views else 0.02))
    together = stepper(parallel, optimizer(parallel.parameters(), lr=0.05 if views else 0.02))
    together = torch.compile(together) if compiled else together
    for step in range(7):
        images, labels = batch(step)
        mean = alone(images, labels)
        own = together(images[rank::size], labels[rank::size]).detach()
        dist.all_reduce(own, dist.ReduceOp.AVG)
        assert torch.allclose(own, mean, atol=1e-4)
    assert close(model, whole, 2e-3 if optimizer is torch.optim.AdamW else 1e-5)
    assert same_on_all_ranks(model)
    assert not [each for each in recwarn if "uncompiled" in str(each.message)]
    if compiled:
        text = str(torch.explain(together)(images[rank::size], labels[rank::size]))
        names = [line.split()[1] for line in text.splitlines() if line[:3].strip().isdigit()]
        starts = [k for k, name in enumerate(names) if name == "start_all_reduce"]
        waits = [k for k, name in enumerate(names) if name == "wait_all_reduce"]
        assert len(starts) == len(waits) == len(parallel.reducer.buckets)
        # The first sum is under way while launches of the backward run.
        assert any(["matmul" in name for name in names[starts[0] : waits[0]]])


@pytest.mark.parametrize("compiled", [False, True])
def test_gradients_that_are_views_are_the_same_tensors_unless_they_got_other_memory(
    world, compiled
):
    rank, size = world
    whole, model = network(), network()
    parallel = DistributedDataParallel(model, gradient_as_bucket_view=True)

    def backward(module, images, labels):
        for parameter in module.parameters():
            parameter.grad = None
        nn.functional.cross_entropy(module(images), labels).backward()

    own, seen = torch.compile(backward) if compiled else backward, []
    for step in range(8):
        images, labels = batch(step)
        backward(whole, images, labels)
        own(parallel, images[rank::size], labels[rank::size])
        for mine, expected in zip(model.parameters(), whole.parameters(), strict=True):
            assert torch.allclose(mine.grad, expected.grad, atol=1e-6)
        first = next(model.parameters())
        seen.append(first.grad)
        if step == 4:  # as some clip gradients
            first.grad.data = first.grad.data.clamp(-1e-9, 1e-9)
    if size > 1 and shared_sums.IS_POSSIBLE:
        assert all([each is seen[0] for each in seen[:5]])
        assert seen[5] is not seen[0]


class Shared(nn.Module):
    """One layer used twice, one whose weight has a hook, and one without anything of the kind."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.first, self.twice = nn.Linear(10, 40), nn.Linear(40, 40)
        self.watched, self.last = nn.Linear(40, 40), nn.Linear(40, 3)

    def forward(self, x):
        x = self.twice(self.twice(self.first(x).tanh()).tanh()).tanh()
        return self.last(self.watched(x).relu())


def test_gradients_are_written_where_they_are_summed_unless_others_see_them(world, monkeypatch):
    """Products write to the bucket: what is added to later, or kept by a hook, lies elsewhere."""
    rank, size = world
    whole, model = Shared(), Shared()
    parallel = DistributedDataParallel(model, gradient_as_bucket_view=True)
    kept, written = [], []

    def into(a, b, out):
        written.append(out.shape)
        return matmul_into(a, b, out)

    monkeypatch.setattr(operators, "matmul_into", into)
    model.watched.weight.register_hook(kept.append)
    for step in range(4):
        images, labels = batch(step)
        for module, part in ((whole, slice(None)), (parallel, slice(rank, None, size))):
            if step != 2:  # it is added to what is there
                module.zero_grad()
            nn.functional.cross_entropy(module(images[part]), labels[part]).backward()
        for mine, expected in zip(model.parameters(), whole.parameters(), strict=True):
            assert torch.allclose(mine.grad, expected.grad, atol=1e-6)
        if step != 2:
            own = kept[-1].clone()
            dist.all_reduce(own, dist.ReduceOp.AVG)
            assert torch.allclose(own, whole.watched.weight.grad, atol=1e-6)
        # A walk to chosen inputs gives the gradient of this rank, and leaves those alone.
        before = model.last.weight.grad.clone()
        of_chosen = [
            torch.autograd.grad(nn.functional.cross_entropy(module(images), labels), weight)[0]
            for module, weight in ((parallel, model.last.weight), (whole, whole.last.weight))
        ]
        assert torch.equal(*of_chosen) and torch.equal(model.last.weight.grad, before)
    if size > 1 and shared_sums.IS_POSSIBLE:
        # Of the layer that is used twice the gradient of the first walk through it alone.
        assert written == [(3, 40), (40, 40), (40, 10)] * 3


@pytest.mark.parametrize("compiled", [False, True])
def test_an_exchange_that_fails_is_not_made_again(world, compiled, monkeypatch):
    """Others would not take part in a second one; the step raises and updates nothing."""
    parallel = DistributedDataParallel(network())
    step = stepper(parallel, torch.optim.SGD(parallel.parameters(), lr=0.1))
    step = torch.compile(step) if compiled else step
    for k in range(4):
        step(*batch(k))
    before, waits = copy.deepcopy(parallel.module), []

    def wait(averaging):
        waits.append(averaging)
        raise RuntimeError("the network is down")

    with monkeypatch.context() as patched:
        patched.setattr(reducer._Averaging, "wait", wait)
        with pytest.raises(RuntimeError, match="the network is down"):
            step(*batch(4))
    assert len(waits) == 1
    assert all(map(torch.equal, parallel.module.parameters(), before.parameters()))
    step(*batch(5))
    assert same_on_all_ranks(parallel) and not close(parallel.module, before, 1e-7)


@pytest.mark.parametrize("compiled", [False, True])
def test_gradients_that_are_gathered_over_several_backwards(world, compiled, recwarn):
    rank, size = world
    whole, model = network(), network()
    parallel = DistributedDataParallel(model)

    def backward(module, images, labels):
        nn.functional.cross_entropy(module(images), labels).backward()

    own = torch.compile(backward) if compiled else backward
    for step in range(15):
        images, labels = batch(step)
        backward(whole, images, labels)
        if step % 3 < 2:
            with parallel.no_sync():
                own(parallel, images[rank::size], labels[rank::size])
        else:
            own(parallel, images[rank::size], labels[rank::size])
            for a, b in zip(model.parameters(), whole.parameters(), strict=True):
                assert torch.allclose(a.grad, b.grad, atol=1e-5)
            whole.zero_grad(), parallel.zero_grad()
    assert not [each for each in recwarn if "uncompiled" in str(each.message)]


@pytest.mark.parametrize("compiled", [False, True])
def test_buffers_are_those_of_the_first_rank(world, compiled):
    rank, size = world
    model = network(norm=True)
    parallel = DistributedDataParallel(model)
    step = stepper(parallel, torch.optim.SGD(parallel.parameters(), lr=0.1))
    step = torch.compile(step) if compiled else step
    for k in range(6):
        images, labels = batch(k)
        step(images[rank::size], labels[rank::size])
    images, _ = batch(9)
    with torch.no_grad():
        parallel(images[rank::size])
    assert model[1].num_batches_tracked.item() == 7
    parallel.eval()
    scores = parallel(images).detach()
    expected = scores.clone()
    dist.broadcast(expected, 0)
    assert torch.equal(scores, expected)


class TwoHeads(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.left, self.right = nn.Linear(10, 8), nn.Linear(8, 2), nn.Linear(8, 2)
        self.idle = nn.Linear(2, 2)

    def forward(self, x, left):
        return (self.left if left else self.right)(self.body(x).tanh())


@pytest.mark.parametrize("options", [{"find_unused_parameters": True}, {"static_graph": True}])
def test_parameters_that_a_loss_leaves_out(world, options):
    rank, size = world
    torch.manual_seed(1)
    model = TwoHeads()
    whole = copy.deepcopy(model)
    parallel = DistributedDataParallel(model, bucket_cap_mb=1e-4, **options)
    for step in range(3):
        images, _ = batch(step)
        parallel.zero_grad(), whole.zero_grad()
        parallel(images[rank::size], left=rank == 0).pow(2).mean().backward()
        losses = [whole(images[k::size], left=k == 0).pow(2).mean() for k in range(size)]
        (sum(losses) / size).backward()
        for (name, a), b in zip(model.named_parameters(), whole.parameters(), strict=True):
            assert (a.grad is None) == (b.grad is None) == name.startswith("idle")
            assert a.grad is None or torch.allclose(a.grad, b.grad, atol=1e-6), name


def test_a_parameter_without_a_gradient_is_an_error_that_names_it(world):
    rank, size = world
    parallel = DistributedDataParallel(TwoHeads())
    for _ in range(2):
        with pytest.raises(RuntimeError, match="left.weight, left.bias.*find_unused_parameters"):
            parallel(torch.ones(2, 10), left=False).sum().backward()


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize(
    "hook, tolerance",
    [
        (default_hooks.allreduce_hook, 1e-6),
        (default_hooks.fp16_compress_hook, 2e-3),
        (default_hooks.bf16_compress_hook, 2e-2),
        (default_hooks.fp16_compress_wrapper(default_hooks.allreduce_hook), 2e-3),
    ],
)
def test_communication_hooks(world, hook, tolerance, compiled):
    rank, size = world
    whole, model = network(), network()
    parallel = DistributedDataParallel(model, bucket_cap_mb=0.005)
    seen = []

    def noting(state, bucket):
        seen.append((bucket.index(), bucket.is_last(), len(bucket.parameters())))
        assert all(map(torch.equal, bucket.gradients(), [p.grad for p in bucket.parameters()]))
        return hook(state, bucket)

    parallel.register_comm_hook(None, hook if compiled else noting)
    with pytest.raises(RuntimeError, match="only be called once"):
        parallel.register_comm_hook(None, hook)

    def backward(images, labels):
        parallel.zero_grad()
        nn.functional.cross_entropy(parallel(images), labels).backward()

    own = torch.compile(backward) if compiled else backward
    for step in range(4):
        images, labels = batch(step)
        own(images[rank::size], labels[rank::size])
    nn.functional.cross_entropy(whole(images), labels).backward()
    for a, b in zip(model.parameters(), whole.parameters(), strict=True):
        assert torch.allclose(a.grad, b.grad, atol=tolerance)
    count = len(parallel.reducer.buckets)
    assert compiled or [index for index, _, _ in seen] == [*range(count)] * 4
    assert compiled or [last for _, last, _ in seen[:count]] == [False] * (count - 1) + [True]


def test_models_of_other_forms_are_refused_on_every_rank(world):
    rank, size = world
    with pytest.raises(RuntimeError, match="weight: float32.*rank . calls .*weight: float32"):
        DistributedDataParallel(nn.Linear(3, 4 if rank else 5))


def test_wrong_uses(world):
    with pytest.raises(RuntimeError, match="not needed when a module doesn't have any parameters"):
        DistributedDataParallel(nn.ReLU())
    with pytest.raises(ValueError, match="device_ids"):
        DistributedDataParallel(nn.Linear(1, 1), device_ids=[0])
    parallel = DistributedDataParallel(nn.Linear(1, 1))
    with pytest.raises(NotImplementedError, match="as many batches"):
        parallel.join()
    with pytest.raises(TypeError, match="must be callable"):
        parallel.register_comm_hook(None, 3)


def test_buckets_hold_the_last_parameters_first(world):
    sizes = [100, 300, 50, 1000, 10]
    parameters = [torch.zeros(size) for size in sizes]
    assert buckets_of(parameters, 2000, 400) == [[4], [3], [2, 1, 0]]
    mixed = [torch.zeros(10), torch.zeros(10, dtype=torch.float64), torch.zeros(10)]
    assert buckets_of(mixed, 10**6) == [[2, 0], [1]]


def test_a_step_survives_an_error_in_a_backward(world):
    rank, size = world

    class Failing(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, grad):
            raise ValueError("on purpose")

    model = nn.Linear(2, 2)
    parallel = DistributedDataParallel(model)
    inner = model.forward
    model.forward = lambda x: Failing.apply(inner(x))
    with pytest.raises(ValueError, match="on purpose"):
        parallel(torch.ones(1, 2)).sum().backward()
    del model.forward
    parallel(torch.full((1, 2), float(rank))).sum().backward()
    assert torch.allclose(model.weight.grad, torch.full((2, 2), (size - 1) / 2))


def test_numbers_that_change_between_compiled_steps(world, recwarn):
    rank, size = world
    whole, model = network(), network()
    parallel = DistributedDataParallel(model, bucket_cap_mb=0.005)

    def step(module, images, labels, rate):
        module.zero_grad()
        loss = nn.functional.cross_entropy(module(images), labels)
        loss.backward()
        own = loss.detach().clone()
        dist.all_reduce(own)
        with torch.no_grad():
            for each in module.parameters():
                each -= rate * each.grad
        return own

    compiled = torch.compile(step)
    for k in range(8):
        images, labels = batch(k)
        rate = 0.1 / (k // 2 + 1)
        step(whole, images, labels, rate)
        compiled(parallel, images[rank::size], labels[rank::size], rate)
    assert close(model, whole)
    assert not [each for each in recwarn if "compile" in str(each.message)]


@pytest.mark.parametrize("name", ["all_reduce", "broadcast", "all_gather", "all_to_all", "async"])
def test_collectives_in_compiled_functions(world, name, recwarn):
    rank, size = world

    def function(x):
        y = (x * 2).tanh() + 1
        if name == "all_reduce":
            dist.all_reduce(y, dist.ReduceOp.AVG)
        elif name == "broadcast":
            dist.broadcast(y, size - 1)
        elif name == "all_gather":
            parts = [torch.empty_like(y) for _ in range(size)]
            dist.all_gather(parts, y)
            y = torch.cat(parts)
        elif name == "all_to_all":
            out = torch.empty_like(y)
            dist.all_to_all_single(out, y)
            y = out
        else:
            work = dist.all_reduce(y, async_op=True)
            z = x.exp()
            work.wait()
            y = y + z
        return (y * 3).sin()

    compiled = torch.compile(function)
    for step in range(6):
        x = torch.randn(2 * size, generator=torch.Generator().manual_seed(size * step + rank))
        assert torch.allclose(compiled(x), function(x), atol=1e-5)
    assert not [each for each in recwarn if "compile" in str(each.message)]
