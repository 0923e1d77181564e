"""Orders of samples, batches, errors and signatures of the data room against live torch."""

import inspect

import pytest
import torch
import torch.utils.data

import numbagrad

ORDERS = {
    "shuffled": lambda lib, d: list(d.RandomSampler(range(9))),
    "more than there are": lambda lib, d: list(d.RandomSampler(range(5), num_samples=12)),
    "with replacement": lambda lib, d: list(d.RandomSampler(range(9), True, 70)),
    "subset": lambda lib, d: list(d.SubsetRandomSampler([3, 5, 8, 9])),
    "weighted": lambda lib, d: list(d.WeightedRandomSampler([0.1, 0.4, 3.0, 0.6], 9)),
    "weighted, each once": lambda lib, d: list(
        d.WeightedRandomSampler([0.1, 0.4, 3.0, 0.6], 3, False)
    ),
    "batches": lambda lib, d: list(d.BatchSampler(d.RandomSampler(range(7)), 3, True)),
    "split": lambda lib, d: [p.indices for p in d.random_split(range(17), [0.5, 0.3, 0.2])],
    "passes": lambda lib, d: [
        [b.tolist() for b in loader] for loader in [d.DataLoader(range(10), 4, shuffle=True)] * 3
    ],
    "passes of a generator": lambda lib, d: [
        [b.tolist() for b in loader]
        for loader in [d.DataLoader(range(9), 4, True, generator=lib.Generator().manual_seed(3))]
        * 2
    ],
    "numbers drawn after a pass": lambda lib, d: (
        len(list(d.DataLoader(range(4)))),
        lib.rand(3).tolist(),
    ),
    "rows": lambda lib, d: [
        [part.tolist() for part in batch]
        for batch in d.DataLoader(d.TensorDataset(lib.randn(6, 2), lib.arange(6)), 4, True)
    ],
}


@pytest.mark.parametrize("case", ORDERS)
def test_orders(case):
    found = []
    for library in (numbagrad, torch):
        library.manual_seed(11)
        found.append(ORDERS[case](library, library.utils.data))
    assert found[0] == found[1]


def _stream(d):
    class Stream(d.IterableDataset):
        def __iter__(self):
            return iter(())

        def __repr__(self):
            return "stream"

    return Stream()


ERRORS = [
    lambda lib, d: d.DataLoader([1], num_workers=-1),
    lambda lib, d: d.DataLoader([1], timeout=-1),
    lambda lib, d: d.DataLoader([1], prefetch_factor=2),
    lambda lib, d: d.DataLoader([1], persistent_workers=True),
    lambda lib, d: d.DataLoader([1], sampler=[0], shuffle=True),
    lambda lib, d: d.DataLoader([1], batch_sampler=[[0]], drop_last=True),
    lambda lib, d: d.DataLoader([1], batch_size=None, drop_last=True),
    lambda lib, d: d.DataLoader([1], batch_size=-1),
    lambda lib, d: d.DataLoader([], shuffle=True),
    lambda lib, d: d.DataLoader(_stream(d), shuffle=True),
    lambda lib, d: d.DataLoader(_stream(d), sampler=[1]),
    lambda lib, d: setattr(d.DataLoader([1]), "sampler", None),
    lambda lib, d: d.RandomSampler([1], replacement=1),
    lambda lib, d: d.RandomSampler([1], num_samples=0),
    lambda lib, d: d.WeightedRandomSampler([1.0], True),
    lambda lib, d: d.WeightedRandomSampler([[1.0]], 1),
    lambda lib, d: d.BatchSampler([1], 1, 1),
    lambda lib, d: d.TensorDataset(lib.ones(2), lib.ones(3)),
    lambda lib, d: d.ConcatDataset([]),
    lambda lib, d: d.ConcatDataset([_stream(d)]),
    lambda lib, d: d.StackDataset(),
    lambda lib, d: d.StackDataset([1], a=[1]),
    lambda lib, d: d.StackDataset([1], [1, 2]),
    lambda lib, d: d.random_split(range(3), [2, 2]),
    lambda lib, d: d.random_split(range(3), [1.5, -0.5]),
    lambda lib, d: d.default_collate([object()]),
    lambda lib, d: d.default_collate([[1], [2, 3]]),
    lambda lib, d: d.Dataset()[0],
    lambda lib, d: d.IterableDataset(),
]


@pytest.mark.parametrize("number", range(len(ERRORS)))
def test_errors_have_the_text_of_torch(number):
    found = []
    for library in (numbagrad, torch):
        with pytest.raises(Exception) as caught:  # noqa: PT011
            ERRORS[number](library, library.utils.data)
        found.append((caught.type, str(caught.value)))
    assert found[0] == found[1]


@pytest.mark.parametrize("name", [n for n in numbagrad.utils.data.__all__ if n != "random_split"])
def test_signatures(name):
    def parameters(library):
        signature = inspect.signature(getattr(library.utils.data, name))
        return [(p.name, p.kind, p.default) for p in signature.parameters.values()]

    assert parameters(numbagrad) == parameters(torch)
