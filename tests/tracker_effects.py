"""Worlds of issues on effects: draws, iterators, containers, memory, optimizers."""

from __future__ import annotations

import collections
import contextlib
import datetime
import itertools
import random
from typing import Any

import numpy as np
from tracker_worlds import World, issue

import numbagrad as torch
from numbagrad import nn

F = nn.functional


# --- random numbers, clocks, iterators ----------------------------------------------------------


@issue(197101)
def seed_inside():
    random.seed(5)

    def step(x):
        random.seed(0)
        return x + random.random(), random.randint(1, 100)

    return World(step, state=lambda: random.random())


@issue(197085)
def shuffle_and_sample():
    random.seed(5)

    def step(x):
        order = list(range(6))
        random.shuffle(order)
        return x * order[0], order, random.sample(range(50), 2)

    return World(step, state=lambda: random.getstate()[1][:3])


@issue(196437)
def generator_of_python_and_other_shapes():
    drawn = random.Random(5)

    def step(x):
        return x * drawn.randint(1, 100)

    shapes = [(1,), (1, 5), (2, 2), (2, 3), (2, 3), (2, 3), (4,), (1,), (1,), (2, 2)]
    return World(step, arguments=lambda k: (torch.ones(shapes[k]),))


@issue(145293)
def random_numbers_of_numpy():
    np.random.seed(5)

    def step(x):
        return x + np.random.random()

    return World(step, state=lambda: np.random.get_state()[2])


@issue(125171, 164922)
def time_of_day():
    seen: list[Any] = []

    def step(x):
        seen.append(datetime.datetime.now())
        return x + 1

    return World(step, state=lambda: len(set(seen)))


@issue(93725, 146344)
def iterator_that_calls_advance():
    numbers = iter(range(100))
    values = iter({k: float(k) for k in range(100)}.values())

    def step(x):
        return x * next(numbers) + next(values)

    return World(step, lambda k: next(numbers))


@issue(146346, 146347)
def enumerate_from_outside():
    pairs = enumerate(range(3, 100))

    def step(x):
        k, n = next(pairs)
        return x * k + n

    return World(step, lambda k: next(pairs))


@issue(146359)
def zip_as_an_argument():
    def step(x, pairs):
        a, b = next(iter(pairs))
        return x * a + b

    made = zip(range(50), itertools.count(3), strict=False)
    return World(step, arguments=lambda k: (torch.ones(3), made))


@issue(149037)
def generator_that_returns():
    scales = [2.0]

    def parts(x):
        yield x * scales[0]
        return scales[0]

    def step(x):
        def outer():
            kept = yield from parts(x)
            yield x + kept

        return sum(outer())

    return World(step, lambda k: scales.__setitem__(0, float(k)))


@issue(175855)
def list_that_grows_under_iteration():
    limit = [3]

    def step(x):
        values = [x.sum()]

        def grow():
            for item in values:
                if len(values) < limit[0]:
                    values.append(item + 1)
                yield item

        return torch.stack(list(grow())).sum()

    return World(step, lambda k: limit.__setitem__(0, k))


# --- what a call leaves behind ------------------------------------------------------------------


@issue(169253)
def list_of_a_class():
    class Model(nn.Module):
        items: list[Any] = []

        def forward(self, x):
            Model.items.append(x)
            return x * 2

    return World(Model(), state=lambda: list(Model.items))


@issue(197896)
def closure_of_a_class_made_inside():
    state: dict[str, Any] = {"n": 0, "log": []}

    def step(x):
        class Helper:
            def touch(self):
                state["n"] += 1
                state["log"].append(tuple(x.shape))

        Helper().touch()
        return x * 2

    return World(step, state=lambda: {"n": state["n"], "log": list(state["log"])})


@issue(192872)
def attribute_of_a_class_made_inside():
    def step(x):
        class Holder:
            items: list[int] = []

        Holder.items.append(1)
        y = x * 2
        print("", end="")
        Holder.items.append(2)
        return (y * 3).sum() + len(Holder.items)

    return World(step)


@issue(196173)
def control_flow_by_the_identity_of_objects():
    class Node:
        def __init__(self):
            self.seen = 0

    nodes = [Node(), Node()]
    current = [nodes[0]]

    def step(x):
        current[0].seen += 1
        if current[0] is nodes[0]:
            current[0] = nodes[1]
            return x * 2
        current[0] = nodes[0]
        return x * 3

    return World(step, state=lambda: [each.seen for each in nodes])


@issue(112072)
def setting_that_the_call_leaves():
    torch.set_grad_enabled(True)

    def step(x):
        y = x.clone()
        torch.set_grad_enabled(False)
        return y.clone()

    return World(step, lambda k: torch.set_grad_enabled(k % 2 == 1), torch.is_grad_enabled)


@issue(150864, 144874)
def attribute_of_a_class_set_inside():
    class Config:
        n = 0

    def step(x):
        Config.n = Config.n + 1
        Config.last = "called"
        return x + 1

    return World(step, lambda k: setattr(Config, "n", k * 10), lambda: Config.n)


@issue(198189)
def order_of_a_cache():
    cache = collections.OrderedDict(a=1, b=2, c=3)

    def step(x):
        cache.move_to_end(next(iter(cache)))
        return x + 1

    return World(step, state=lambda: list(cache))


@issue(198189)
def order_of_a_cache_in_the_arguments():
    cache = collections.OrderedDict(a=1, b=2)

    def step(cache, x):
        cache.move_to_end("a" if next(iter(cache)) == "a" else "b")
        return x + 1

    return World(
        step, state=lambda: list(cache), arguments=lambda k: (cache, torch.full((3,), 1.0 + k))
    )


@issue(141283)
def set_in_the_arguments():
    def step(x, numbers, more):
        numbers.update(map(int, more))
        return x + len(numbers)

    numbers: set[int] = set()
    return World(
        step, state=lambda: sorted(numbers),
        arguments=lambda k: (torch.ones(1), numbers, [k, k + 1, k]),
    )  # fmt: skip


@issue(103706)
def effect_in_finally():
    done = []

    class Model(nn.Module):
        def forward(self, x):
            try:
                return x * 2
            finally:
                done.append(len(done))

    return World(Model(), state=lambda: list(done))


@issue(144423)
def generator_that_is_closed():
    log: list[Any] = []

    def parts(x):
        try:
            log.append(1)
            yield x.sin()
        finally:
            log.append(-1)

    def step(x):
        made = parts(x)
        found = next(made)
        made.close()
        log.append(456)
        return found

    return World(step, state=lambda: list(log))


@issue(144424)
def exception_thrown_into_a_generator():
    log: list[Any] = []

    def parts(x):
        try:
            yield x * 2
        except ValueError as error:
            log.append(str(error))
            yield x * 3

    def step(x):
        made = parts(x)
        next(made)
        return made.throw(ValueError(f"{len(log)}"))

    return World(step, state=lambda: list(log))


@issue(136033)
def context_manager_with_state():
    depth: list[int] = []

    @contextlib.contextmanager
    def scope(n):
        depth.append(n)
        try:
            yield len(depth)
        finally:
            depth.append(-n)

    def step(x):
        with scope(1) as n, scope(2):
            return x * n

    return World(step, state=lambda: list(depth))


@issue(169722)
def append_between_operators():
    kept: list[Any] = []

    def step(x):
        y = torch.sin(x)
        kept.append(len(kept))
        z = torch.cos(y)
        kept.append(z.detach())
        return z + len(kept)

    return World(step, state=lambda: list(kept))


# --- memory -------------------------------------------------------------------------------------


@issue(139789)
def arguments_that_overlap_later():
    def step(x, y):
        x.mul_(2)
        return x + y

    kept: list[Any] = []

    def arguments(k):
        kept[:] = [torch.ones(8)]
        return (kept[0][:4], kept[0][2:6]) if k >= 4 else (torch.ones(4), torch.ones(4))

    return World(step, state=lambda: list(kept), arguments=arguments)


@issue(195422)
def dropout_that_returns_its_argument():
    kept: list[Any] = []

    def step(x):
        y = F.dropout(x, 0.5, False)
        y += y
        return y

    def arguments(k):
        kept[:] = [torch.full((3,), k + 1.0)]
        return (kept[0],)

    return World(step, state=lambda: list(kept), arguments=arguments)


@issue(198101)
def argument_written_after_it_was_read():
    def step(x):
        y = x * 2
        y.sub_(-4)
        x[:, 1:3] = 2
        return y

    return World(step, arguments=lambda k: (torch.arange(-6.0, 6.0).reshape(2, 6) * k,))


@issue(94777)
def in_place_after_the_same_out_of_place():
    kept: list[Any] = []

    def step(x):
        y = torch.log(x)
        x.log_()
        return y

    def arguments(k):
        kept[:] = [torch.tensor(k + 3.0)]
        return (kept[0],)

    return World(step, state=lambda: list(kept), arguments=arguments)


@issue(94773)
def data_of_an_argument_replaced():
    kept: list[Any] = []

    def step(x):
        alias = x[:]
        x.data = torch.ones(3, 4)
        return alias + 1

    def arguments(k):
        kept[:] = [torch.full((2, 3), k + 1.0)]
        return (kept[0],)

    return World(step, state=lambda: list(kept), arguments=arguments)


@issue(198102)
def write_through_windows_with_gaps():
    kept: list[Any] = []

    def step(x):
        windows = x.unfold(1, 1, 5)
        windows.add_(windows)
        return x

    def arguments(k):
        kept[:] = [torch.arange(1.0, 25.0).reshape(4, 6) + k]
        return (kept[0],)

    return World(step, state=lambda: list(kept), arguments=arguments)


@issue(152425)
def write_into_what_was_expanded():
    def step(x):
        expanded = x.expand(2)
        expanded[-1] = 3
        return expanded

    return World(step, arguments=lambda k: (torch.tensor(float(k)),), raises=True)


@issue(113539)
def arrays_of_numpy_resized_in_place():
    sizes = [(3, 2)]

    def step(x):
        made = np.arange(3.0, dtype=np.float32)
        made.resize(sizes[0], refcheck=False)
        return x * torch.from_numpy(made).sum() + made.shape[0]

    return World(step, lambda k: sizes.__setitem__(0, (k, 2)))


@issue(158087)
def number_of_what_is_no_number():
    def step(x):
        return x + int(x[0])

    def arguments(k):
        return (torch.tensor([float("nan") if k in (2, 5, 7) else k]),)

    return World(step, arguments=arguments, raises=True)


@issue(96064)
def unrolled_loop():
    rates = [1.0, 2.0, 3.0]

    def step(x):
        for rate in rates:
            x = torch.where(x > rate, x - rate, x * rate)
        return x

    return World(step, lambda k: rates.append(float(k)))
