"""``inference_mode``: tensors that autograd never sees again; the other switches of recording."""

import threading

import pytest

import numbagrad as nb

NOT_OUTSIDE = "Inplace update to inference tensor outside InferenceMode is not allowed"


@pytest.fixture
def inference():
    with nb.inference_mode():
        return nb.ones(2, 2)


def normal():
    return nb.ones(2, 2, requires_grad=True) * 1


# --- what is an inference tensor ------------------------------------------------------------------


def test_tensors_made_inside_are_inference_tensors():
    x = normal()
    with nb.inference_mode():
        made = [
            nb.ones(2), nb.tensor([1.0]), x + 1, x.mm(x), x.exp(), x.clone(), x.sum(),
            nb.ones(2).view(1, 2), nb.ones(4)[1:], nb.nn.functional.relu(x), nb.rand(2),
            nb.ones(4).split(2)[0],
        ]  # fmt: skip
        assert all([tensor.is_inference() and nb.is_inference(tensor) for tensor in made])
        assert not any([tensor.requires_grad for tensor in made])
        assert not x.is_inference()
        assert not x.view(4).is_inference()
    assert not (x + 1).is_inference()


def test_switched_off_inside():
    with nb.inference_mode():
        with nb.inference_mode(False):
            assert nb.is_grad_enabled()
            assert not nb.ones(1).is_inference()
        assert nb.is_inference_mode_enabled()
        assert nb.ones(1).is_inference()
    assert not nb.is_inference_mode_enabled()


def test_of_one_thread_only():
    found = []
    with nb.inference_mode():
        thread = threading.Thread(target=lambda: found.append((nb.ones(1) + 1).is_inference()))
        thread.start()
        thread.join()
    assert found == [False]


def test_decorators():
    @nb.inference_mode()
    def made():
        return nb.ones(1)

    @nb.inference_mode
    def also_made():
        return nb.ones(1)

    assert made().is_inference() and also_made().is_inference()


def test_requires_grad_inside_only(inference):
    with nb.inference_mode():
        assert nb.ones(1, requires_grad=True).requires_grad
    with pytest.raises(RuntimeError, match="Setting requires_grad=True on inference tensor"):
        inference.requires_grad_()
    assert not inference.requires_grad_(False).requires_grad


# --- outside of the mode --------------------------------------------------------------------------


def test_can_be_read(inference):
    x = normal()
    assert (x + inference).requires_grad  # a sum saves nothing
    assert not (inference * 2).is_inference()
    assert not inference.clone().is_inference()
    assert inference.view(4).is_inference()
    assert nb.stack([inference, inference]).tolist() == nb.ones(2, 2, 2).tolist()


@pytest.mark.parametrize(
    "use",
    [
        lambda x, s: x * s, lambda x, s: s * x, lambda x, s: x.mm(s), lambda x, s: x / s,
        lambda x, s: nb.nn.functional.linear(x, s, x[0]),
        lambda x, s: nb.autograd.graph.saved_tensors_hooks and x.matmul(s),
    ],
)  # fmt: skip
def test_cannot_be_saved(inference, use):
    x = normal()
    use(x, x)  # so that a launcher knows how to record it
    with pytest.raises(RuntimeError, match="Inference tensors cannot be saved for backward"):
        use(x, inference)
    use(x, inference.clone()).sum().backward()


def test_cannot_be_saved_by_a_function(inference):
    class Keep(nb.autograd.Function):
        @staticmethod
        def forward(ctx, x, s):
            ctx.save_for_backward(s)
            return x.clone()

    with pytest.raises(RuntimeError, match="Inference tensors cannot be saved for backward"):
        Keep.apply(normal(), inference)


@pytest.mark.parametrize(
    "write",
    [
        lambda s: s.add_(1), lambda s: s.zero_(), lambda s: s.fill_(2), lambda s: s.t_(),
        lambda s: s.copy_(nb.ones(2, 2)), lambda s: s.__setitem__(0, 1.0), lambda s: s.exp_(),
        lambda s: s.view(4).add_(1), lambda s: s.normal_(), lambda s: s.resize_(1),
        lambda s: nb.add(nb.ones(2, 2), 1, out=s), lambda s: s.__setitem__(s > 0, 1.0),
    ],
)  # fmt: skip
def test_cannot_be_written(inference, write):
    with nb.inference_mode():
        write(inference.clone())
    for mode in (nb.enable_grad(), nb.no_grad()):
        with mode, pytest.raises(RuntimeError, match=NOT_OUTSIDE):
            write(inference)
    assert inference.tolist() == [[1.0, 1.0], [1.0, 1.0]]


def test_counts_no_versions(inference):
    with pytest.raises(RuntimeError, match="Inference tensors do not track version counter"):
        _ = inference._version
    nb.autograd.graph.increment_version(inference)


def test_a_detached_one_is_one_too(inference):
    for detached in (inference.detach(), inference.data):
        assert detached.is_inference()
        with pytest.raises(RuntimeError, match=NOT_OUTSIDE):
            detached.add_(1)
    assert not nb.ones(2).detach().is_inference()


# --- ordinary tensors in the mode -----------------------------------------------------------------


def test_a_write_inside_is_noticed_by_backward():
    x = normal()
    out = x * x
    with nb.inference_mode():
        x.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.sum().backward()


def test_a_view_made_inside_cannot_be_written_outside():
    x = normal()
    for make in (lambda: x.view(4), lambda: x[0], lambda: x.unbind()[0]):
        with nb.inference_mode():
            view = make()
        with pytest.raises(RuntimeError, match="created in inference mode and is being modified"):
            view.add_(1)


def test_views_of_inference_tensors_are_tensors_like_others(inference):
    with nb.inference_mode():
        assert not inference.view(4)._is_view()
        assert not nb.ones(2, requires_grad=True).view(2, 1).requires_grad
        with nb.autograd.forward_ad.dual_level():
            dual = nb.autograd.forward_ad.make_dual(inference, nb.ones(2, 2))
            assert not dual._is_view()
            dual += 1
        assert inference.sum() == 8
    assert not inference.view(4)._is_view()


@pytest.mark.parametrize("mode", [nb.no_grad, nb.inference_mode])
def test_unrecorded_views_require_grad_as_their_base_does(mode):
    x = normal()
    with mode():
        view = x.view(4)
        assert view.requires_grad and view[1:].requires_grad and x.t().requires_grad
        assert view.is_leaf and view.grad_fn is None
        assert not view.detach().requires_grad and not (view * 1).requires_grad
        x.add_(1)
        assert x.requires_grad and x[0].requires_grad
        constant = nb.ones(2).view(2, 1)
        assert not constant.requires_grad
        later = x.view(4)
    assert view.requires_grad and later.requires_grad and not (constant * 2).requires_grad
    made = later * 2
    assert made.requires_grad and made.grad_fn.next_functions[0] == (None, 0)


def test_leaves_that_require_grad_may_be_resized_inside():
    with nb.inference_mode():
        x = nb.ones(2, 3, requires_grad=True)
        assert x.resize_(1, 2).shape == (1, 2) and x.requires_grad
    with nb.no_grad(), pytest.raises(RuntimeError, match="cannot resize variables"):
        nb.ones(2, requires_grad=True).resize_(1)


# --- the other switches ---------------------------------------------------------------------------


def test_decorating_a_class_is_deprecated():
    with pytest.warns(FutureWarning, match="Decorating classes is deprecated"):

        @nb.no_grad()
        class Made:
            def __init__(self):
                self.recording = nb.is_grad_enabled()

    assert Made().recording is False


def test_generators_run_under_the_mode_and_their_readers_do_not():
    @nb.no_grad()
    def numbers():
        for number in range(3):
            try:
                received = yield nb.is_grad_enabled()
            except ValueError:
                received = "caught"
            assert received in (None, number, "caught")
        return "done"

    generator = numbers()
    assert next(generator) is False
    assert nb.is_grad_enabled()
    assert generator.send(0) is False
    assert generator.throw(ValueError) is False
    with pytest.raises(StopIteration) as stop:
        next(generator)
    assert stop.value.value == "done"


def test_set_grad_enabled_in_all_its_forms():
    assert repr(nb.set_grad_enabled(False)).endswith("set_grad_enabled(mode=False)")
    assert not nb.is_grad_enabled()
    nb.set_grad_enabled(True)
    with nb.set_grad_enabled(False):
        nb.set_grad_enabled(True)
        assert nb.is_grad_enabled()

    @nb.set_grad_enabled(False)
    def recording():
        return nb.is_grad_enabled()

    assert nb.is_grad_enabled()
    assert recording() is False


def test_the_switch_of_multithreading():
    from numbagrad.autograd.grad_mode import is_multithreading_enabled

    assert is_multithreading_enabled()
    with nb.autograd.set_multithreading_enabled(False):
        assert not is_multithreading_enabled()
        nb.ones(1, requires_grad=True).sum().backward()

    @nb.autograd.set_multithreading_enabled(False)
    def inside():
        return is_multithreading_enabled()

    assert is_multithreading_enabled()
    assert inside() is False


# --- views that have no history, once their memory was written ------------------------------------


@pytest.mark.parametrize(
    ("mode", "block"), [(nb.no_grad, "no_grad mode"), (nb.inference_mode, "inference mode")]
)
@pytest.mark.parametrize("make", [lambda x: x.view(4), lambda x: x[:1], lambda x: x.split(1)[0]])
@pytest.mark.parametrize("write", [lambda x: x.add_(2), lambda x: x.transpose_(0, 1)])
def test_the_history_of_an_unrecorded_view_is_gone_once_its_base_was_written(
    mode, block, make, write
):
    base = normal()
    with mode():
        view = make(base)
    assert view.grad_fn is None and view.is_leaf and view.requires_grad
    assert "requires_grad=True" in repr(view)
    write(base)
    with pytest.raises(RuntimeError, match=f"{block} and its base or another view"):
        view.grad_fn  # noqa: B018
    with pytest.raises(RuntimeError, match=f"{block} and its base or another view"):
        view.is_leaf  # noqa: B018
    assert "grad_fn=<Invalid>" in repr(view)


def test_an_unrecorded_view_of_what_needs_no_gradient_may_be_written():
    base = nb.ones(2, 2)
    with nb.no_grad():
        view = base.view(4)
    base.add_(1)
    assert view.grad_fn is None and view.is_leaf and "Invalid" not in repr(view)


def test_a_view_of_several_is_invalid_once_its_base_was_written():
    base = normal()
    view = base.unbind()[0]
    base.mul_(2)
    assert repr(view) == "tensor([2., 2.], grad_fn=<Invalid>)"
    with pytest.raises(RuntimeError, match="a function that returns multiple views"):
        view.grad_fn  # noqa: B018


def test_views_of_inference_tensors_have_no_history():
    with nb.inference_mode():
        tensor = nb.ones(2, 2, requires_grad=True)
    for view in (tensor.view(4), tensor[0], *tensor.unbind()):
        assert view.is_inference() and view.is_leaf and not view.requires_grad
        assert not view._is_view()
