"""``numbagrad.explain``: the program of a compiled function as data, as text and as a picture."""

from __future__ import annotations

import xml.etree.ElementTree

import numpy as np
import pytest

import numbagrad as torch
from numbagrad import nn
from numbagrad.executor.mode import NATIVE

pytestmark = pytest.mark.skipif(not NATIVE, reason="compile() runs functions as they are")


def two_layer():
    torch.manual_seed(0)
    w1 = torch.randn(30, 20, requires_grad=True)
    w2 = torch.randn(20, 5, requires_grad=True)

    def step(x, y):
        w1.grad = w2.grad = None
        loss = (x.mm(w1).clamp(min=0).mm(w2) - y).pow(2).sum()
        loss.backward()
        with torch.no_grad():
            w1.sub_(1e-3 * w1.grad)
            w2.sub_(1e-3 * w2.grad)
        return loss

    return step


def explained(steps=3):
    step = torch.compile(two_layer())
    arguments = torch.randn(6, 30), torch.randn(6, 5)
    for _ in range(steps):
        step(*arguments)
    return torch.explain(step)(*arguments)


def test_the_launches_in_order_and_what_was_fused_into_them():
    found = explained()
    rows = found.forward.rows
    products = [row for row in rows if row.operators[0] == "matmul"]
    assert [row.shape for row in products[:2]] == [
        "6×30, 30×20 -> 6×20", "6×20, 20×5 -> 6×5",
    ]  # fmt: skip
    assert products[1].operators == ("matmul",)
    assert products[1].flops == 2 * 6 * 20 * 5
    assert products[1].bytes == 4 * (6 * 20 + 20 * 5 + 6 * 5)
    fused = [row.operators for row in rows]
    assert any([names[:3] == ("sub", "pow_2", "sum") for names in fused])
    assert any([names[-2:] == ("mul", "sub") for names in fused])
    assert all([row.launches for row in rows]) and found.forward.python_calls == ()
    assert found.result.item() > 0


def test_blocks_that_live_at_the_same_time_do_not_overlap():
    program = explained().forward
    assert program.blocks
    for k, a in enumerate(program.blocks):
        if a.home == "arena":
            assert a.offset + a.bytes <= program.arena_bytes
        else:  # the result is not touched while it holds the block
            used = [row for row, each in enumerate(program.rows) if a.home in each.writes]
            assert a.last < min(used)
        for b in program.blocks[:k]:
            together = a.first <= b.last and b.first <= a.last
            apart = a.offset + a.bytes <= b.offset or b.offset + b.bytes <= a.offset
            assert apart or not together or a.home != b.home
    assert program.arena_bytes < program.block_bytes + 64 * len(program.blocks)


def test_the_text_names_everything():
    text = str(explained())
    for expected in (
        "launches", "fuses sub, pow_2, sum", "memory: an arena of", "reused", "given0: float32",
        "results: result0", "numbers read anew at each run: none", "Python calls left: none",
    ):  # fmt: skip
        assert expected in text


def test_sources_are_files_that_name_the_operators():
    sources = explained().forward.sources
    path = next(path for path, name in sources.items() if name.startswith("sub_pow_2_sum"))
    first, second, *rest = path.read_text().splitlines()
    assert "sub_pow_2_sum" in first and second.startswith("# fuses sub, pow_2, sum")
    assert any(["def kernel(args, lo, hi):" in line for line in rest])


def test_the_picture_has_a_box_for_each_operation_and_a_lane_for_each_block(tmp_path):
    found = explained()
    root = xml.etree.ElementTree.fromstring(found._repr_svg_())
    groups = root.findall("{*}g")
    assert len(groups) == len(found.forward.rows) + len(found.forward.blocks)
    titles = [group.find("{*}title").text for group in groups]
    assert any(["sub, pow_2, sum" in title for title in titles])
    found.save_svg(tmp_path / "step.svg")
    assert (tmp_path / "step.svg").read_text(encoding="utf-8") == found._repr_svg_()
    with pytest.raises(ValueError, match="no program to draw: no backward"):
        found.save_svg(tmp_path / "none.svg", backward=True)


def test_the_first_call_explains_what_it_recorded():
    assert explained(steps=0).forward is not None


def test_a_module_has_a_program_for_each_direction():
    net = torch.compile(nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2)))
    for _ in range(2):
        found = torch.explain(net)(torch.ones(3, 4))
    assert "matmul" in str(found.backward)
    assert str(found).count("memory: an arena of") == 2
    found.result.sum().backward()
    assert net._orig_mod[0].weight.grad is not None


def test_numbers_and_python_calls_are_listed():
    @torch.kernel
    def doubled(x, y):
        y[:] = 2 * x

    weight = torch.ones(3, requires_grad=True)
    update = torch.optim.Adam([weight], lr=0.1)

    @torch.compile
    def step(x):
        update.zero_grad()
        (weight * doubled(x)).sum().backward()
        update.step()

    for _ in range(3):
        step(torch.ones(3))
    program = torch.explain(step)(torch.ones(3)).forward
    assert len(program.numbers) == 1
    assert program.python_calls == ("doubled",)
    assert "(calls Python)" in str(program)


def test_a_class_loss_is_one_of_the_launches():
    weight = torch.randn(6, 4, requires_grad=True)
    step = torch.compile(lambda x, labels: nn.functional.cross_entropy(x @ weight, labels))
    found = torch.explain(step)(torch.randn(3, 6), torch.tensor([0, 3, 1]))
    assert "class_loss" in str(found)
    assert found.result.item() > 0


def test_without_a_program_it_says_why():
    step = torch.compile(lambda x: x * 2 if x.sum() > 0 else x)
    with pytest.warns(UserWarning, match="runs uncompiled"):
        found = torch.explain(step)(torch.ones(2))
    assert found.forward is None and "branch on the value" in str(found)
    assert found._repr_svg_() is None
    np.testing.assert_allclose(found.result.numpy(), [2, 2])


def test_other_functions_are_explained_by_their_kernels():
    found = torch.explain(torch.mul)(torch.ones(2), torch.ones(2))
    assert "mul ran 1 kernel" in str(found) and found.result.tolist() == [1.0, 1.0]
