"""Datasets, samplers, collation and loaders, with and without worker processes.

Orders written as literals were printed by torch 2.13 from the same seed.
"""

import collections
import itertools
import warnings

import numpy as np
import pytest

import numbagrad as ng
from numbagrad.utils import data


class Squares(data.Dataset):
    """Plain numbers, by index."""

    def __init__(self, count):
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        if not 0 <= index < self.count:
            raise IndexError(index)
        return index * index


class Stream(data.IterableDataset):
    """0, 1, 2, ...; in a worker, its share of them."""

    def __init__(self, count):
        self.count = count

    def __iter__(self):
        info = data.get_worker_info()
        start, step = (0, 1) if info is None else (info.id, info.num_workers)
        return iter(range(start, self.count, step))


class Failing(Squares):
    def __getitem__(self, index):
        if index == 3:
            raise ValueError("no third sample")
        return index


class Seeded(Squares):
    def __getitem__(self, index):
        return data.get_worker_info().seed


def test_the_room_has_both_names():
    import numbagrad.utils.data as named

    assert named.DataLoader is ng.utils.data.DataLoader is ng.data.DataLoader


# --- datasets -------------------------------------------------------------------------------------


def test_rows_of_tensors():
    rows = data.TensorDataset(ng.arange(6).view(3, 2), ng.tensor([7, 8, 9]))
    assert len(rows) == 3
    assert [part.tolist() for part in rows[1]] == [[2, 3], 8]
    with pytest.raises(AssertionError, match="Size mismatch between tensors"):
        data.TensorDataset(ng.ones(2), ng.ones(3))


def test_sets_joined():
    joined = Squares(2) + Squares(3)
    assert [joined[i] for i in range(5)] == [0, 1, 0, 1, 4]
    assert joined[-1] == 4 and joined.cumulative_sizes == [2, 5]
    with pytest.raises(ValueError, match="absolute value of index"):
        joined[-6]
    assert list(Stream(2) + Stream(1)) == [0, 1, 0]
    assert data.StackDataset(Squares(3), Squares(3))[2] == (4, 4)
    assert data.StackDataset(a=Squares(3), b=Squares(3)).__getitems__([1, 2]) == [
        {"a": 1, "b": 1}, {"a": 4, "b": 4},
    ]  # fmt: skip
    with pytest.raises(ValueError, match="Size mismatch between datasets"):
        data.StackDataset(Squares(3), Squares(2))


def test_subsets():
    part = data.Subset(Squares(5), [4, 2])
    assert (len(part), part[0], part.__getitems__([1, 0])) == (2, 16, [4, 16])

    class Doubled(data.Subset):
        def __getitem__(self, index):
            return 2 * super().__getitem__(index)

    with pytest.raises(NotImplementedError, match="overrides __getitem__ but not __getitems__"):
        Doubled(Squares(5), [0])


def test_random_split_has_the_order_of_torch():
    ng.manual_seed(0)
    first, second = data.random_split(Squares(10), [7, 3])
    assert first.indices == [4, 1, 7, 5, 3, 9, 0] and second.indices == [8, 6, 2]
    parts = data.random_split(range(10), [0.3, 0.3, 0.4], ng.Generator().manual_seed(42))
    assert [len(part) for part in parts] == [3, 3, 4]
    with pytest.raises(ValueError, match="Sum of input lengths"):
        data.random_split(Squares(10), [7, 4])
    with pytest.raises(ValueError, match="Fraction at index 0"):
        data.random_split(Squares(10), [1.2, -0.2])
    with pytest.warns(UserWarning, match="Length of split at index 2 is 0"):
        data.random_split(Squares(2), [0.4, 0.4, 0.2])


# --- collation ------------------------------------------------------------------------------------

Point = collections.namedtuple("Point", "x y")


@pytest.mark.parametrize("batch, text", [
    ([1, 2], "tensor([1, 2])"),
    ([1.5, 2.0], "tensor([1.5000, 2.0000], dtype=torch.float64)"),
    ([True, False], "tensor([ True, False])"),
    (["a", "b"], "['a', 'b']"),
    ([(1, "a"), (2, "b")], "[tensor([1, 2]), ('a', 'b')]"),
    ([[1, 2], [3, 4]], "[tensor([1, 3]), tensor([2, 4])]"),
    ([{"a": 1, "b": [2]}, {"a": 3, "b": [4]}], "{'a': tensor([1, 3]), 'b': [tensor([2, 4])]}"),
    ([Point(1, 2), Point(3, 4)], "Point(x=tensor([1, 3]), y=tensor([2, 4]))"),
    ([np.float32(1), np.float32(2)], "tensor([1., 2.])"),
    ([np.ones(2, np.int64), np.zeros(2, np.int64)], "tensor([[1, 1],\n        [0, 0]])"),
])  # fmt: skip
def test_collation(batch, text):
    assert repr(data.default_collate(batch)) == text


def test_collation_refuses_what_it_does_not_know():
    with pytest.raises(TypeError, match="default_collate: batch must contain tensors"):
        data.default_collate([object()])
    with pytest.raises(TypeError, match="found <U1"):
        data.default_collate([np.array(["a"])])
    with pytest.raises(RuntimeError, match="each element in list of batch should be of equal"):
        data.default_collate([[1, 2], [3]])


def test_conversion_of_single_samples():
    converted = data.default_convert({"a": np.ones(2), "b": (np.int64(1), "text")})
    assert isinstance(converted["a"], ng.Tensor) and converted["b"][0].item() == 1
    assert converted["b"][1] == "text"


#: Two passes of batches of three after manual_seed(1), and one of four from a generator of seed 5.
SHUFFLED = [[[6, 1, 0], [3, 4, 5], [7, 2]], [[0, 5, 2], [6, 3, 4], [1, 7]]]
SEEDED = [[7, 4, 1, 3], [2, 0, 6, 5]]

# --- loaders --------------------------------------------------------------------------------------


def test_batches():
    assert [b.tolist() for b in data.DataLoader(Squares(5), 2)] == [[0, 1], [4, 9], [16]]
    loader = data.DataLoader(Squares(5), 2, drop_last=True)
    assert len(loader) == 2 and [b.tolist() for b in loader] == [[0, 1], [4, 9]]
    assert list(data.DataLoader(Squares(3), batch_size=None)) == [0, 1, 4]
    assert [b.tolist() for b in data.DataLoader(Squares(4), sampler=[3, 1], batch_size=2)] == [
        [9, 1]
    ]
    chosen = data.DataLoader(Squares(4), batch_sampler=[[0], [1, 2]], collate_fn=list)
    assert list(chosen) == [[0], [1, 4]] and len(chosen) == 2


def test_batches_of_tensor_rows_are_looked_up_at_once():
    ng.manual_seed(3)
    x, y = ng.randn(10, 4), ng.arange(10)
    rows = data.TensorDataset(x, y)
    for dataset in (rows, data.Subset(rows, [5, 3, 8, 1])):
        plain = data.DataLoader(dataset, 3, collate_fn=lambda rows: data.default_collate(rows))
        for ours, reference in zip(data.DataLoader(dataset, 3), plain, strict=True):
            assert type(ours) is type(reference)
            for a, b in zip(ours, reference, strict=True):
                assert a.tolist() == b.tolist()


def test_shuffled_batches_have_the_order_of_torch():
    ng.manual_seed(1)
    loader = data.DataLoader(list(range(8)), batch_size=3, shuffle=True)
    passes = [[b.tolist() for b in loader] for _ in range(2)]
    assert passes == SHUFFLED
    seeded = data.DataLoader(list(range(8)), 4, True, generator=ng.Generator().manual_seed(5))
    assert [b.tolist() for b in seeded] == SEEDED


def test_streams():
    loader = data.DataLoader(Stream(5), batch_size=2)
    assert [b.tolist() for b in loader] == [[0, 1], [2, 3], [4]]
    assert [b.tolist() for b in data.DataLoader(Stream(5), 2, drop_last=True)] == [[0, 1], [2, 3]]
    assert list(data.DataLoader(Stream(2), batch_size=None)) == [0, 1]


def test_a_stream_that_is_longer_than_it_says():
    class Short(Stream):
        def __len__(self):
            return 2

    loader = data.DataLoader(Short(3))
    assert len(loader) == 2
    with pytest.warns(UserWarning, match="was reported to be 2.* but 3 samples"):
        list(loader)


@pytest.mark.parametrize("options, message", [
    ({"num_workers": -1}, "num_workers option should be non-negative"),
    ({"timeout": -1}, "timeout option should be non-negative"),
    ({"prefetch_factor": 2}, "prefetch_factor option could only be specified"),
    ({"persistent_workers": True}, "persistent_workers option needs num_workers > 0"),
    ({"sampler": [0], "shuffle": True}, "sampler option is mutually exclusive with shuffle"),
    ({"batch_sampler": [[0]], "batch_size": 2}, "batch_sampler option is mutually exclusive"),
    ({"batch_size": None, "drop_last": True}, "batch_size=None option disables auto-batching"),
    ({"batch_size": 0}, "batch_size should be a positive integer value, but got batch_size=0"),
])  # fmt: skip
def test_options_that_do_not_go_together(options, message):
    with pytest.raises(ValueError, match=message):
        data.DataLoader(Squares(3), **options)


def test_a_made_loader_is_fixed():
    loader = data.DataLoader(Squares(3))
    with pytest.raises(ValueError, match="batch_size attribute should not be set after"):
        loader.batch_size = 3
    loader.worker_init_fn = None
    with pytest.raises(ValueError, match="expected unspecified shuffle option"):
        data.DataLoader(Stream(3), shuffle=True)
    with pytest.warns(UserWarning, match="no accelerator is found"):
        list(data.DataLoader(Squares(1), pin_memory=True))


# --- workers --------------------------------------------------------------------------------------


@pytest.mark.parametrize("persistent", [False, True])
def test_workers_give_the_batches_in_order(persistent):
    ng.manual_seed(1)
    options = {"num_workers": 2, "persistent_workers": persistent}
    loader = data.DataLoader(list(range(8)), batch_size=3, shuffle=True, **options)
    # Workers that stay are given no new seed, so that the second order is another one.
    second = [[5, 7, 2], [0, 1, 6], [3, 4]] if persistent else SHUFFLED[1]
    assert [[b.tolist() for b in loader] for _ in range(2)] == [SHUFFLED[0], second]
    for broken_off in range(3):
        for number, _ in enumerate(loader):
            if number == broken_off:
                break
    assert sorted(sum([b.tolist() for b in loader], [])) == list(range(8))


def test_workers_share_a_stream():
    loader = data.DataLoader(Stream(7), batch_size=2, num_workers=2)
    assert [b.tolist() for b in loader] == [[0, 2], [1, 3], [4, 6], [5]]


def test_workers_know_their_seeds():
    loader = data.DataLoader(
        Seeded(4), batch_size=None, num_workers=2, generator=ng.Generator().manual_seed(9)
    )
    seeds = list(loader)
    assert seeds[0] + 1 == seeds[1] and seeds[:2] == seeds[2:]
    assert data.get_worker_info() is None


def test_an_error_in_a_worker_is_raised_with_its_traceback():
    loader = data.DataLoader(Failing(5), num_workers=1)
    with pytest.raises(ValueError, match="Caught ValueError in DataLoader worker process 0") as e:
        list(loader)
    assert "no third sample" in str(e.value)


def test_a_loader_trains_a_network():
    ng.manual_seed(0)
    x = ng.randn(64, 3)
    rows = data.TensorDataset(x, x.sum(1, keepdim=True))
    net = ng.nn.Linear(3, 1)
    optimizer = ng.optim.SGD(net.parameters(), lr=0.1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(20):
            for inputs, targets in data.DataLoader(rows, batch_size=16, shuffle=True):
                optimizer.zero_grad()
                loss = ng.nn.functional.mse_loss(net(inputs), targets)
                loss.backward()
                optimizer.step()
    assert loss.item() < 1e-3


def test_pipes_of_data():
    from numbagrad.utils.data import DataLoader, IterDataPipe, MapDataPipe, functional_datapipe

    class Numbers(IterDataPipe):
        def __iter__(self):
            return iter(range(4))

    @functional_datapipe("times_of_this_test")
    class Times(IterDataPipe):
        def __init__(self, source, factor):
            self.source, self.factor = source, factor

        def __iter__(self):
            return (value * self.factor for value in self.source)

    assert list(Numbers().times_of_this_test(3)) == [0, 3, 6, 9]
    batches = list(DataLoader(Numbers().times_of_this_test(factor=2), batch_size=2))
    assert [batch.tolist() for batch in batches] == [[0, 2], [4, 6]]
    assert repr(Numbers()).endswith("Numbers") and "times_of_this_test" in dir(Numbers())
    with pytest.raises(AttributeError, match="'Numbers' object has no attribute 'nosuch'"):
        Numbers().nosuch()
    with pytest.raises(Exception, match="already taken"):
        functional_datapipe("times_of_this_test")(Times)
    assert not hasattr(MapDataPipe(), "times_of_this_test")
    del IterDataPipe.functions["times_of_this_test"]


def test_a_random_sampler_without_an_end_begins_at_once():
    """It drew up a list of all its chunks, of 312 million entries here."""
    drawn = [
        list(
            itertools.islice(
                data.RandomSampler(range(9), True, count, ng.Generator().manual_seed(3)), 40
            )
        )
        for count in (64, 10**10)
    ]
    assert drawn[0] == drawn[1]
