"""autocast, custom_fwd and custom_bwd, GradScaler: what is cast, what comes back, what is kept."""

import subprocess
import sys
import threading
import warnings

import numpy as np
import pytest

import numbagrad as torch
from numbagrad import autocast_state
from numbagrad.dispatch import layers
from numbagrad.utils.checkpoint import checkpoint

LOWER = [torch.bfloat16, torch.float16]
over_lower = pytest.mark.parametrize("dtype", LOWER, ids=str)
F = torch.nn.functional


def autocast(dtype=torch.bfloat16, **options):
    return torch.autocast(device_type="cpu", dtype=dtype, **options)


@pytest.fixture(autouse=True)
def nothing_stays_on():
    yield
    assert autocast_state.state.settings == autocast_state.Settings()
    assert autocast_state.state.nesting == 0
    assert not autocast_state.state.cache


class TestLists:
    @over_lower
    def test_products_are_computed_in_the_lower_dtype(self, dtype):
        x, w, b = torch.randn(3, 4), torch.randn(5, 4), torch.randn(5)
        calls = [
            lambda: x @ w.t(),
            lambda: torch.mm(x, w.t()),
            lambda: x.matmul(w[0]),
            lambda: F.linear(x, w, b),
            lambda: torch.addmm(b, x, w.t()),
            lambda: torch.bmm(x[None], w.t()[None]),
            lambda: torch.einsum("ij,kj->ik", x, w),
            lambda: F.conv1d(x[None], torch.randn(2, 3, 2)),
            lambda: F.scaled_dot_product_attention(x[None], x[None], x[None]),
            lambda: F.prelu(x, torch.ones(1)),
            lambda: torch.nn.Linear(4, 2)(x),
        ]
        for call in calls:
            with autocast(dtype):
                assert call().dtype is dtype
            assert call().dtype is torch.float32

    def test_sensitive_operators_are_computed_in_float32(self):
        x = torch.rand(3, 3).bfloat16()
        calls = [
            lambda: F.mse_loss(x, x),
            lambda: F.cross_entropy(x, torch.arange(3)),
            lambda: F.nll_loss(x, torch.arange(3)),
            lambda: F.binary_cross_entropy_with_logits(x, x),
            lambda: x.prod(),
            lambda: x.trace(),
            lambda: torch.cdist(x, x),
            lambda: torch.quantile(x, 0.5),
            lambda: torch.linalg.eigvalsh(x),
            lambda: F.pad(x[None], (1, 1), mode="reflect"),
            lambda: torch.nn.MSELoss()(x, x),
        ]
        with autocast():
            assert {call().dtype for call in calls} == {torch.float32}

    def test_others_stay_and_some_take_the_widest(self):
        narrow, wide = torch.rand(3, 3).bfloat16(), torch.rand(3, 3)
        with autocast():
            assert (narrow + narrow).dtype is torch.bfloat16
            assert wide.softmax(-1).dtype is torch.float32
            assert torch.cat([narrow, wide]).dtype is torch.float32
            assert torch.stack([narrow, narrow]).dtype is torch.bfloat16
            copied = wide.index_copy(0, torch.tensor([0]), narrow[:1])
            assert copied.dtype is torch.float32

    def test_mixed_arguments_meet(self):
        """Without autocast they are an error."""
        a, b = torch.rand(2, 2).half(), torch.rand(2, 2)
        with autocast():
            assert (a @ b).dtype is torch.bfloat16
            double = b.double()
            assert (double @ double).dtype is torch.float64
            assert (torch.ones(2, 2, dtype=torch.int64) @ torch.ones(2, 2).long()).dtype is (
                torch.int64
            )

    def test_values_are_those_of_casts_by_hand(self):
        x, w = torch.randn(8, 16), torch.randn(4, 16)
        with autocast():
            found = F.linear(x, w)
        expected = F.linear(x.bfloat16(), w.bfloat16())
        assert found.tolist() == expected.tolist()

    def test_operators_made_of_products_are_left_alone(self):
        image = torch.rand(1, 1, 4, 4)
        with autocast():
            assert F.interpolate(image, scale_factor=2, mode="bilinear").dtype is torch.float32
            assert F.adaptive_avg_pool2d(image, 2).dtype is torch.float32

    def test_operators_of_stacks_are_products_too(self):
        x = torch.randn(2, 3, 3)
        with autocast():
            assert (x @ x).dtype is torch.bfloat16
            assert (x @ x[0, 0]).dtype is torch.bfloat16


class TestTheLayer:
    """Functions ask whether it is awake; none is changed."""

    def test_sleeps_outside_of_contexts(self):
        before = layers.active
        with autocast():
            assert layers.active & layers.BITS["autocast"]
            with autocast(enabled=False):
                assert layers.active & layers.BITS["autocast"]
        assert layers.active == before

    def test_functions_stay_what_they_are(self):
        functions = (torch.mm, torch.Tensor.mm, F.linear, F.cross_entropy, torch.cat)
        codes = [function.__code__ for function in functions]
        x = torch.randn(2, 2)
        with autocast():
            assert torch.mm(x, x).dtype is torch.bfloat16
            assert [function.__code__ for function in functions] == codes

    def test_another_thread_is_left_alone(self):
        x, found = torch.randn(2, 2), []
        with autocast():
            thread = threading.Thread(target=lambda: found.append((x @ x).dtype))
            thread.start()
            thread.join()
        assert found == [torch.float32]

    def test_what_a_function_calls_is_cast_no_further(self):
        x = torch.randn(3, 3)
        with autocast():
            assert torch.linalg.cond(x, "fro").dtype is torch.float32  # which calls ``inv``
            assert (x @ x).dtype is torch.bfloat16

    def test_a_call_that_fails_leaves_the_layer_as_it_was(self):
        x = torch.randn(2, 3)
        with autocast():
            for _ in range(2):
                with pytest.raises(RuntimeError):
                    torch.mm(x, x)
            assert torch.mm(x, x.t()).dtype is torch.bfloat16


class TestContexts:
    def test_nest_and_switch_off(self):
        x = torch.randn(2, 2)
        with autocast():
            assert (x @ x).dtype is torch.bfloat16
            with autocast(enabled=False):
                assert (x @ x).dtype is torch.float32
                with autocast(torch.float16):
                    assert (x @ x).dtype is torch.float16
            assert (x @ x).dtype is torch.bfloat16
        assert (x @ x).dtype is torch.float32

    def test_an_exception_switches_off(self):
        with pytest.raises(ZeroDivisionError), autocast():
            raise ZeroDivisionError
        assert not torch.is_autocast_enabled("cpu")

    def test_decorates(self):
        @autocast()
        def product(x):
            """A product."""
            return x @ x

        assert product(torch.ones(2, 2)).dtype is torch.bfloat16
        assert product.__doc__ == "A product."
        assert not torch.is_autocast_enabled("cpu")

    def test_one_context_is_entered_again(self):
        context = autocast()
        with context, context:
            assert torch.is_autocast_enabled("cpu")
        with context:
            assert torch.is_autocast_enabled("cpu")

    def test_belongs_to_its_thread(self):
        found = []
        with autocast():
            thread = threading.Thread(
                target=lambda: found.append((torch.ones(2, 2) @ torch.ones(2, 2)).dtype)
            )
            thread.start()
            thread.join()
        assert found == [torch.float32]

    def test_switches(self):
        assert torch.get_autocast_dtype("cpu") is torch.bfloat16
        assert torch.get_autocast_dtype("cuda") is torch.float16
        assert torch.is_autocast_cache_enabled()
        with autocast(torch.float16, cache_enabled=False):
            assert torch.get_autocast_dtype("cpu") is torch.float16
            assert not torch.is_autocast_cache_enabled()
            assert torch.is_autocast_cpu_enabled()
            assert not torch.is_autocast_enabled()  # of CUDA
        torch.set_autocast_enabled("cpu", True)
        torch.set_autocast_dtype("cpu", torch.float16)
        assert (torch.ones(2, 2) @ torch.ones(2, 2)).dtype is torch.float16
        torch.set_autocast_enabled("cpu", False)
        torch.set_autocast_dtype("cpu", torch.bfloat16)

    def test_what_is_not_there_warns_or_raises(self):
        with pytest.warns(UserWarning, match="CUDA is not available"):
            context = torch.autocast("cuda")
        with context:
            assert (torch.ones(2, 2) @ torch.ones(2, 2)).dtype is torch.float32
        with pytest.warns(UserWarning, match="target dtype is not supported"):
            autocast(torch.float32)
        with pytest.raises(RuntimeError, match="unsupported autocast device_type 'tpu'"):
            torch.autocast("tpu")
        with pytest.raises(ValueError, match="Expected `device_type` of type `str`"):
            torch.autocast(torch.device("cpu"))
        assert torch.amp.is_autocast_available("cpu")

    def test_out_is_written_as_ever(self):
        out = torch.zeros(2, 2)
        with autocast():
            torch.mm(torch.ones(2, 2), torch.ones(2, 2), out=out)
        assert out.tolist() == [[2, 2], [2, 2]]


class TestGradients:
    def test_come_back_in_the_dtype_of_the_leaves(self):
        x, w = torch.randn(5, 4), torch.randn(3, 4, requires_grad=True)
        with autocast():
            loss = F.mse_loss(F.linear(x, w), torch.zeros(5, 3))
        assert loss.dtype is torch.float32
        loss.backward()
        assert w.grad.dtype is torch.float32
        exact = torch.autograd.grad(F.mse_loss(F.linear(x, w), torch.zeros(5, 3)), w)[0]
        assert (w.grad - exact).abs().max() < 0.02 * exact.abs().max()
        assert w.grad.tolist() == w.grad.bfloat16().float().tolist()

    def test_a_weight_is_cast_once(self):
        x, w = torch.randn(5, 4), torch.randn(4, 4, requires_grad=True)

        def casts(**options):
            with autocast(**options):
                total = (x @ w).sum() + (x @ w).sum()
                assert bool(autocast_state.state.cache) == options.get("cache_enabled", True)
            seen, pending = set(), [total.grad_fn]
            while pending:
                node = pending.pop()
                if node is not None and node not in seen:
                    seen.add(node)
                    pending += [each for each, _ in node.next_functions]
            (expected,) = torch.autograd.grad(total, w)
            assert expected.dtype is torch.float32
            return sum(node.name() == "ToCopyBackward0" for node in seen)

        assert (casts(), casts(cache_enabled=False)) == (1, 2)

    def test_the_cache_knows_what_it_must_not_give(self):
        x, w = torch.eye(2), torch.ones(2, 2, requires_grad=True)
        with autocast():
            with torch.no_grad():
                x @ w
            made = x @ w
            assert made.requires_grad  # not the copy that has no history
            with torch.no_grad():
                w.add_(1)
            assert (x @ w).tolist() == [[2, 2], [2, 2]]
            torch.clear_autocast_cache()
            assert not autocast_state.state.cache
        made.sum().backward()
        assert w.grad is not None

    def test_of_gradients(self):
        w = torch.tensor([[2.0]], requires_grad=True)
        with autocast():
            y = (w @ w @ w).sum()
        (first,) = torch.autograd.grad(y, w, create_graph=True)
        (second,) = torch.autograd.grad(first.sum(), w)
        assert (first.item(), second.item()) == (12, 12)

    def test_a_network_learns(self):
        torch.manual_seed(0)
        net = torch.nn.Sequential(torch.nn.Linear(8, 32), torch.nn.ReLU(), torch.nn.Linear(32, 3))
        optimizer = torch.optim.SGD(net.parameters(), lr=0.2)
        x, y = torch.randn(30, 8), torch.arange(30) % 3
        losses = []
        for _ in range(80):
            optimizer.zero_grad()
            with autocast():
                loss = F.cross_entropy(net(x), y)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        assert losses[-1] < 0.5 * losses[0]
        assert {p.dtype for p in net.parameters()} == {torch.float32}
        assert {p.grad.dtype for p in net.parameters()} == {torch.float32}


class TestFunctions:
    def test_cast_inputs_switches_casting_off(self):
        seen = []

        class Product(torch.autograd.Function):
            @staticmethod
            @torch.amp.custom_fwd(device_type="cpu", cast_inputs=torch.float32)
            def forward(ctx, a, b):
                ctx.save_for_backward(a, b)
                seen.append((a.dtype, torch.is_autocast_enabled("cpu"), (a @ b).dtype))
                return a @ b

            @staticmethod
            @torch.amp.custom_bwd(device_type="cpu")
            def backward(ctx, grad):
                a, b = ctx.saved_tensors
                seen.append((a.dtype, torch.is_autocast_enabled("cpu")))
                return grad @ b.t(), a.t() @ grad

        a = torch.ones(2, 2, dtype=torch.bfloat16, requires_grad=True)
        b = torch.ones(2, 2, requires_grad=True)
        with autocast():
            made = Product.apply(a, b)
            made.sum().backward()
        assert seen == [(torch.float32, False, torch.float32), (torch.float32, False)]
        assert made.dtype is torch.float32
        assert (a.grad.dtype, b.grad.dtype) == (torch.bfloat16, torch.float32)

    def test_backward_computes_as_forward_did(self):
        seen = []

        class Product(torch.autograd.Function):
            @staticmethod
            @torch.amp.custom_fwd(device_type="cpu")
            def forward(ctx, a):
                ctx.save_for_backward(a)
                return a @ a

            @staticmethod
            @torch.amp.custom_bwd(device_type="cpu")
            def backward(ctx, grad):
                (a,) = ctx.saved_tensors
                product = grad @ a.t()
                seen.append((torch.is_autocast_enabled("cpu"), product.dtype))
                return product.float() + (a.t() @ grad).float()

        a = torch.ones(2, 2, requires_grad=True)
        with autocast(torch.float16):
            made = Product.apply(a)
        made.sum().backward()
        assert seen == [(True, torch.float16)]
        Product.apply(a).sum().backward()
        assert seen[1] == (False, torch.float32)

    @pytest.mark.parametrize("use_reentrant", [True, False])
    def test_a_checkpoint_runs_again_as_it_did(self, use_reentrant):
        seen = []

        def block(x, w):
            product = x @ w
            seen.append((torch.is_autocast_enabled("cpu"), product.dtype))
            return product.float().tanh()

        x = torch.randn(3, 3, requires_grad=True)
        w = torch.randn(3, 3, requires_grad=True)
        with autocast(torch.float16):
            made = checkpoint(block, x, w, use_reentrant=use_reentrant)
        made.sum().backward()
        first = x.grad.clone()
        assert seen == [(True, torch.float16)] * 2
        x.grad = None
        with autocast(torch.float16):
            plain = block(x, w)
        plain.sum().backward()
        assert x.grad.tolist() == first.tolist()
        x.grad = None
        outside = checkpoint(block, x, w, use_reentrant=use_reentrant)
        with autocast():  # the walk is inside, the block was not
            outside.sum().backward()
        assert seen[-1] == (False, torch.float32)


class TestPrograms:
    def test_a_compiled_step_knows_whether_autocast_is_on(self):
        """A program that was recorded without it must not run with it, nor the other way."""

        def product(x, w):
            return (x @ w).float()

        compiled = torch.compile(product)
        x, w = torch.randn(4, 5), torch.randn(5, 3)
        wide = product(x, w).tolist()
        with autocast():
            narrow = product(x, w).tolist()
        assert wide != narrow
        for _ in range(6):
            assert compiled(x, w).tolist() == wide
            with autocast():
                assert compiled(x, w).tolist() == narrow
            with autocast(torch.float16):
                half = compiled(x, w).tolist()
            assert half not in (wide, narrow)

    def test_a_step_with_autocast_inside(self):
        def losses(compiled):
            torch.manual_seed(0)
            net = torch.nn.Linear(6, 3)
            optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
            x, y = torch.randn(9, 6), torch.arange(9) % 3

            def step(x, y):
                optimizer.zero_grad()
                with torch.autocast("cpu", torch.bfloat16):
                    loss = F.cross_entropy(net(x), y)
                loss.backward()
                optimizer.step()
                return loss

            run = torch.compile(step) if compiled else step
            return [run(x, y).item() for _ in range(8)]

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            np.testing.assert_allclose(losses(True), losses(False), rtol=1e-5)

    def test_a_step_with_autocast_around(self):
        """Weights change between runs: no cast of an old one may be read."""

        def losses(compiled):
            torch.manual_seed(0)
            net = torch.nn.Linear(6, 3)
            optimizer = torch.optim.SGD(net.parameters(), lr=0.5)
            x, y = torch.randn(9, 6), torch.arange(9) % 3

            def step(x, y):
                optimizer.zero_grad()
                loss = F.cross_entropy(net(x), y)
                loss.backward()
                optimizer.step()
                return loss

            run = torch.compile(step) if compiled else step
            with autocast():
                return [run(x, y).item() for _ in range(8)]

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            np.testing.assert_allclose(losses(True), losses(False), rtol=1e-5)


class TestScaler:
    def setup_method(self):
        self.weight = torch.nn.Parameter(torch.tensor([1.0, 2.0]))
        self.optimizer = torch.optim.SGD([self.weight], lr=0.5)

    def scaler(self, **options):
        return torch.amp.GradScaler("cpu", init_scale=4.0, growth_interval=2, **options)

    def test_steps_are_those_without_it(self):
        scaler = self.scaler()
        for _ in range(3):
            self.optimizer.zero_grad()
            loss = (self.weight * torch.tensor([1.0, 3.0])).sum()
            scaler.scale(loss).backward()
            scaler.step(self.optimizer)
            scaler.update()
        assert self.weight.tolist() == [1 - 1.5, 2 - 4.5]
        assert scaler.get_scale() == 8.0  # after two steps in a row

    def test_unscale_first(self):
        scaler = self.scaler()
        scaler.scale(self.weight.sum()).backward()
        assert self.weight.grad.tolist() == [4, 4]
        scaler.unscale_(self.optimizer)
        assert self.weight.grad.tolist() == [1, 1]
        with pytest.raises(RuntimeError, match="already been called"):
            scaler.unscale_(self.optimizer)
        scaler.step(self.optimizer)
        with pytest.raises(RuntimeError, match="since the last update"):
            scaler.step(self.optimizer)
        with pytest.raises(RuntimeError, match="after step"):
            scaler.unscale_(self.optimizer)
        scaler.update()

    @pytest.mark.parametrize("bad", [float("inf"), float("nan")])
    def test_a_gradient_that_is_not_finite_leaves_the_step_out(self, bad):
        scaler = self.scaler()
        scaler.scale((self.weight * torch.tensor([1.0, bad])).sum()).backward()
        assert scaler.step(self.optimizer) is None
        scaler.update()
        assert self.weight.tolist() == [1, 2]
        assert scaler.get_scale() == 2.0

    def test_state(self):
        scaler = self.scaler()
        scaler.scale(self.weight.sum()).backward()
        scaler.step(self.optimizer)
        scaler.update()
        saved = scaler.state_dict()
        assert saved == {"scale": 4.0, "growth_factor": 2.0, "backoff_factor": 0.5,
                         "growth_interval": 2, "_growth_tracker": 1}  # fmt: skip
        other = torch.amp.GradScaler("cpu")
        other.load_state_dict(saved)
        assert other.state_dict() == saved
        with pytest.raises(RuntimeError, match="source state dict is empty"):
            other.load_state_dict({})

    def test_containers_and_a_given_scale(self):
        scaler = self.scaler()
        one, (two, three) = scaler.scale([torch.ones(()), (torch.ones(()), torch.ones(2))])
        assert (one.item(), two.item(), three.tolist()) == (4, 4, [4, 4])
        scaler.update(16.0)
        assert scaler.get_scale() == 16

    def test_switched_off(self):
        scaler = self.scaler(enabled=False)
        loss = self.weight.sum()
        assert scaler.scale(loss) is loss
        loss.backward()
        scaler.step(self.optimizer)
        scaler.update()
        assert self.weight.tolist() == [0.5, 1.5]
        assert (scaler.get_scale(), scaler.state_dict(), scaler.is_enabled()) == (1.0, {}, False)
        with pytest.warns(UserWarning, match="CUDA is not available"):
            assert not torch.amp.GradScaler().is_enabled()

    def test_misuse(self):
        scaler = self.scaler()
        with pytest.raises(AssertionError, match="_scale is None"):
            scaler.step(self.optimizer)
        scaler.scale(torch.ones(()))
        with pytest.raises(AssertionError, match="No inf checks"):
            scaler.step(self.optimizer)
        with pytest.raises(RuntimeError, match="Closure use"):
            scaler.step(self.optimizer, closure=lambda: None)
        half = torch.nn.Parameter(torch.ones(2, dtype=torch.float16))
        half.grad = torch.ones(2, dtype=torch.float16)
        with pytest.raises(ValueError, match="FP16 gradients"):
            scaler.unscale_(torch.optim.SGD([half], lr=0.1))


def test_a_program_without_autocast_does_not_import_it():
    code = (
        "import sys, numbagrad; assert 'numbagrad.amp' not in sys.modules; "
        "assert numbagrad.mm.__wrapped__.__code__.co_filename.endswith('matmul.py'); "
        "numbagrad.autocast; assert 'numbagrad.amp' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
