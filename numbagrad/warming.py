"""Kernels compiled before they are needed: ``python -m numbagrad warm [script.py [arguments]]``.

Without a script the command runs small programs, one a process and as many at a time as there are
CPUs, which make the usual layers, losses and optimizers compile what they need, for this very CPU.
With one it runs the script until it ends, or until it has compiled nothing for a while. What was
compiled lies in the cache of the user from then on. ``tools/ship_kernels.py`` runs the programs
for the kernels that come with the package.
"""

from __future__ import annotations

import argparse
import functools
import math
import os
import pathlib
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

__all__ = ["PROGRAMS", "main", "run_program"]


def _train(torch: Any, model: Any, loss: Callable[[], Any], optimizer: Any, steps: int = 2) -> None:
    for _ in range(steps):
        optimizer.zero_grad()
        loss().backward()
        optimizer.step()


def _train_compiled(
    torch: Any, model: Any, loss: Callable[[], Any], kinds: Sequence[Callable[[Any], Any]]
) -> None:
    """Compiled steps of a model with each kind of optimizer, and with clipped gradients."""
    for kind in kinds:
        for norm in (None, 1.0):
            optimizer = kind(model.parameters())

            def step(optimizer: Any = optimizer, norm: float | None = norm) -> Any:
                value = loss()
                optimizer.zero_grad()
                value.backward()
                if norm is not None:
                    torch.nn.utils.clip_grad_norm_(model.parameters(), norm)
                optimizer.step()
                return value

            compiled = torch.compile(step)
            for _ in range(4):
                compiled()


def _evaluate(torch: Any, model: Any, inputs: Any, targets: Any) -> None:
    """Loss and accuracy of a classifier, as between two epochs."""
    model.eval()
    torch.set_grad_enabled(False)
    outputs = model(inputs)
    torch.nn.functional.cross_entropy(outputs, targets).item()
    (outputs.argmax(1) == targets).float().mean().item()
    outputs.argmax(dim=1).eq(targets).sum().item()
    torch.set_grad_enabled(True)
    model.train()


def two_layer(torch: Any) -> None:
    """The two-layer net: with tensors, with modules, and its step compiled."""
    x, y = torch.randn(64, 1000), torch.randn(64, 10)
    w1 = torch.randn(1000, 100, requires_grad=True)
    w2 = torch.randn(100, 10, requires_grad=True)
    for _ in range(2):
        loss = (x.mm(w1).clamp(min=0).mm(w2) - y).pow(2).sum()
        loss.backward()
        with torch.no_grad():
            for w in (w1, w2):
                w -= 1e-6 * w.grad
                w.grad.zero_()
    model = torch.nn.Sequential(
        torch.nn.Linear(1000, 100), torch.nn.ReLU(), torch.nn.Linear(100, 10)
    )
    criterion = torch.nn.MSELoss(reduction="sum")
    for optimizer in (
        torch.optim.SGD(model.parameters(), lr=1e-4),
        torch.optim.SGD(model.parameters(), lr=1e-4, momentum=0.9),
        torch.optim.Adam(model.parameters(), lr=1e-4),
    ):

        def step(optimizer: Any = optimizer) -> Any:
            loss = criterion(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            return loss

        step().item()
        compiled = torch.compile(step)
        for _ in range(5):
            compiled()
    small = torch.nn.Linear(8, 8)
    forward, z = torch.compile(lambda z: small(z).relu().sum()), torch.randn(4, 8)
    for _ in range(6):  # its backward is no part of what is compiled
        small.zero_grad()
        forward(z).backward()


def images(torch: Any) -> None:
    """LeNet, and a block with batch normalization, average pooling and a residual."""
    nn = torch.nn
    lenet = nn.Sequential(
        nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
        nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10),
    )  # fmt: skip
    x, y = torch.randn(64, 1, 28, 28), torch.randint(0, 10, (64,))
    optimizer = torch.optim.SGD(lenet.parameters(), lr=0.01, momentum=0.9)
    _train(torch, lenet, lambda: nn.functional.cross_entropy(lenet(x), y), optimizer)
    _evaluate(torch, lenet, x, y)
    block = nn.Sequential(
        nn.Conv2d(8, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU(inplace=True)
    )
    z = torch.randn(4, 8, 16, 16)
    head = nn.Sequential(nn.AvgPool2d(2), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(0.1))
    optimizer = torch.optim.SGD(block.parameters(), lr=0.01, weight_decay=1e-4, nesterov=True,
                                momentum=0.9)  # fmt: skip
    _train(torch, block, lambda: head(block(z) + z).mean(), optimizer)
    block.eval()(z)


def transformer(torch: Any) -> None:
    """Embeddings, layer norms, attention and the feed-forward part, trained with AdamW."""
    nn = torch.nn
    embedding, positions = nn.Embedding(65, 64), nn.Embedding(32, 64)
    layer = nn.TransformerEncoderLayer(64, 4, 128, batch_first=True, norm_first=True)
    plain = nn.TransformerEncoderLayer(64, 4, 128, activation="gelu")
    head = nn.Linear(64, 65, bias=False)
    parts = nn.ModuleList([embedding, positions, layer, plain, head, nn.LayerNorm(64)])
    tokens = torch.randint(0, 65, (4, 32))
    mask = nn.Transformer.generate_square_subsequent_mask(32)
    optimizer = torch.optim.AdamW(parts.parameters(), lr=1e-3)

    def loss() -> Any:
        x = embedding(tokens) + positions(torch.arange(32))
        x = layer(x, src_mask=mask)
        x = plain(x.transpose(0, 1)).transpose(0, 1)
        q, k, v = x.view(4, 32, 4, 16).transpose(1, 2).unbind(0)[:3]
        x = x + nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True).mean()
        logits = head(parts[-1](x))
        return nn.functional.cross_entropy(logits.view(-1, 65), tokens.view(-1))

    for _ in range(2):
        optimizer.zero_grad()
        loss().backward()
        nn.utils.clip_grad_norm_(parts.parameters(), 1.0)
        optimizer.step()
    _written_out_attention(torch)
    with torch.no_grad():
        logits = head(embedding(tokens))[:, -1, :] / 0.8
        values, _ = torch.topk(logits, 10)
        logits[logits < values[:, [-1]]] = -float("inf")
        torch.multinomial(torch.softmax(logits, dim=-1), num_samples=1)


def _written_out_attention(torch: Any) -> None:
    """Attention as programs write it themselves, and stacks of layers, with the usual masks."""
    nn = torch.nn
    x = torch.randn(2, 8, 64)
    causal = torch.tril(torch.ones(8, 8))
    qkv, out = nn.Linear(64, 192), nn.Linear(64, 64)
    q, k, v = [each.view(2, 8, 4, 16).transpose(1, 2) for each in qkv(x).split(64, dim=2)]
    scores = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(16))
    for mask in (causal == 0, causal[None, None] == 0, torch.ones(8, 8).triu(1).bool()):
        weights = scores.masked_fill(mask, float("-inf")).softmax(dim=-1)
        y = (nn.functional.dropout(weights, 0.1) @ v).transpose(1, 2).contiguous().view(2, 8, 64)
        (out(y) + x).sum().backward(retain_graph=True)
    mask = nn.Transformer.generate_square_subsequent_mask(8)
    for layer in (
        nn.TransformerEncoderLayer(64, 4, 128, 0.1, "gelu", batch_first=True, norm_first=True),
        nn.TransformerEncoderLayer(64, 4, 128, batch_first=True),
    ):
        stack = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        stack(x, mask=mask, is_causal=True).sum().backward()
        stack(x, src_key_padding_mask=torch.zeros(2, 8).bool()).sum().backward()
        stack(x).sum().backward()
    attention = nn.MultiheadAttention(64, 4, batch_first=True)
    attention(x, x, x)[0].sum().backward()
    nn.GELU(approximate="tanh")(out(x)).sum().backward()


def sequences(torch: Any) -> None:
    """LSTM, GRU and a plain recurrence."""
    nn = torch.nn
    x = torch.randn(20, 8, 16)
    for kind in (nn.LSTM, nn.GRU, nn.RNN):
        layer, head = kind(16, 32), nn.Linear(32, 1)
        parameters = [*layer.parameters(), *head.parameters()]
        optimizer = torch.optim.Adam(parameters, lr=1e-3)

        def loss(layer: Any = layer, head: Any = head) -> Any:
            return nn.functional.mse_loss(head(layer(x)[0]), torch.zeros(20, 8, 1))

        _train(torch, layer, loss, optimizer)


_UNARY = ("abs", "neg", "exp", "log", "sqrt", "rsqrt", "sin", "cos", "tanh", "sigmoid", "relu",
          "square", "reciprocal", "log1p", "expm1", "floor", "round", "sign", "erf")  # fmt: skip
_BINARY = ("add", "sub", "mul", "div", "maximum", "minimum", "pow", "atan2")
_COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
_REDUCTIONS = ("sum", "mean", "amax", "amin", "prod", "var", "std", "logsumexp")


def operators(torch: Any) -> None:
    """Pointwise operators and reductions of both floating dtypes, and their gradients."""
    for dtype in (torch.float32, torch.float64):
        x = torch.rand(8, 12, dtype=dtype).add_(0.5).requires_grad_()
        y = torch.rand(8, 12, dtype=dtype).add_(0.5).requires_grad_()
        row = torch.rand(12, dtype=dtype).add_(0.5).requires_grad_()
        for name in _UNARY:
            getattr(torch, name)(x).sum().backward()
        for name in _BINARY:
            function = getattr(torch, name)
            for other in (y, row, torch.tensor(2.0, dtype=dtype)):
                function(x, other).sum().backward()
        for value in (x + 1, x - 1, x * 2, x / 2, 1 - x, 1 / x, x**2, x**3, x**0.5):
            value.sum().backward()
        for name in _COMPARISONS:
            getattr(torch, name)(x, y)
            getattr(torch, name)(x, 1.0)
        for name in _REDUCTIONS:
            function = getattr(torch, name)
            function(x, dim=1).sum().backward()
            function(x, dim=0, keepdim=True).sum().backward()
        x.max().backward()
        x.max(dim=1).values.sum().backward()
        x.cumsum(0).sum().backward()
        x.softmax(1).log().sum().backward()
        x.log_softmax(-1).sum().backward()
        torch.cat([x, y]).mean().backward()
        torch.stack([x, y]).mean().backward()
        torch.where(x > 1, x, y).sum().backward()
        x[torch.tensor([0, 2])].sum().backward()
        x[:, 1:3].norm().backward()
        (x @ y.t()).sum().backward()
        torch.bmm(x.view(2, 4, 12), y.view(2, 12, 4)).sum().backward()
        torch.einsum("ij,kj->ik", x, y).sum().backward()
        (x.sort().values - x.flip(0)).abs().sum().backward()


def losses(torch: Any) -> None:
    """The usual losses, norms and optimizers."""
    nn = torch.nn
    x, target = torch.randn(16, 8, requires_grad=True), torch.rand(16, 8)
    for loss in (nn.MSELoss(), nn.L1Loss(), nn.SmoothL1Loss(), nn.HuberLoss(),
                 nn.BCEWithLogitsLoss(), nn.KLDivLoss(reduction="batchmean")):  # fmt: skip
        loss(x, target).backward()
    nn.BCELoss()(x.sigmoid(), target).backward()
    nn.NLLLoss()(x.log_softmax(1), torch.randint(0, 8, (16,))).backward()
    for layer in (nn.LayerNorm(8), nn.BatchNorm1d(8), nn.GELU(), nn.SiLU(), nn.ELU(),
                  nn.LeakyReLU(), nn.Softplus(), nn.Tanh(), nn.Dropout(0.5)):  # fmt: skip
        layer(x).sum().backward()
    model = nn.Linear(8, 4)
    for name in ("SGD", "Adam", "AdamW", "RMSprop", "Adagrad"):
        optimizer = getattr(torch.optim, name)(model.parameters(), lr=1e-3)
        _train(torch, model, lambda: model(x.detach()).pow(2).mean(), optimizer)


def precisions(torch: Any) -> None:
    """A training step in each floating dtype, as when a program changes it on the way."""
    nn = torch.nn
    model = nn.Sequential(
        nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(64, 32), nn.Tanh(), nn.LayerNorm(32), nn.Dropout(0.1),
        nn.Linear(32, 32), nn.GELU(), nn.Unflatten(1, (4, 8)),
        nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), nn.Flatten(), nn.Linear(32, 10),
    )  # fmt: skip
    x, y = torch.randn(16, 1, 8, 8), torch.randint(0, 10, (16,))
    # SGD alone keeps no state of the dtype before.
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
    with torch.autocast("cpu", torch.bfloat16):
        loss = nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    for dtype in (torch.float32, torch.float64, torch.bfloat16, torch.float16):
        model.to(dtype)
        images = x.to(dtype)
        for kind in (torch.optim.SGD, torch.optim.AdamW, torch.optim.Adam):
            optimizer = kind(model.parameters(), lr=1e-3)
            for _ in range(2):
                optimizer.zero_grad()
                outputs = model(images)
                (nn.functional.cross_entropy(outputs, y) + outputs.square().mean()).backward()
                nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
        _evaluate(torch, model, images, y)
        classifier = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10)).to(dtype)
        optimizer = torch.optim.SGD(classifier.parameters(), lr=1e-2, momentum=0.9)
        flat = images.flatten(1)
        penalised = functools.partial(_penalised, torch, classifier, flat, y)
        _train(torch, classifier, penalised, optimizer)
        _evaluate(torch, classifier, flat, y)


def _penalised(torch: Any, model: Any, inputs: Any, targets: Any) -> Any:
    """The loss of a classifier and the absolute values of its parameters."""
    loss = torch.nn.functional.cross_entropy(model(inputs), targets)
    return loss + 1e-4 * sum([p.abs().sum() for p in model.parameters()])


def compiled_steps(torch: Any) -> None:
    """Compiled training steps of a classifier, a convolutional network and a transformer."""
    nn, optim = torch.nn, torch.optim
    y = torch.randint(0, 10, (16,))
    kinds = (
        lambda parameters: optim.SGD(parameters, lr=0.01),
        lambda parameters: optim.SGD(parameters, lr=0.01, momentum=0.9),
        lambda parameters: optim.Adam(parameters, lr=1e-3),
        lambda parameters: optim.AdamW(parameters, lr=1e-3),
    )
    mlp = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))
    x = torch.randn(16, 64)
    _train_compiled(torch, mlp, lambda: nn.functional.cross_entropy(mlp(x), y), kinds)
    convolutions = nn.Sequential(
        nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 16, 5), nn.ReLU(),
        nn.MaxPool2d(2), nn.Flatten(), nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 10),
    )  # fmt: skip
    z = torch.randn(16, 1, 28, 28)
    _train_compiled(
        torch, convolutions, lambda: nn.functional.cross_entropy(convolutions(z), y), kinds[1:]
    )
    tokens = torch.randint(0, 65, (4, 16))
    for norm_first in (False, True):
        for dropout in (0.0, 0.1):
            layers = nn.Sequential(
                nn.Embedding(65, 32),
                nn.TransformerEncoderLayer(
                    32, 4, 64, dropout, batch_first=True, norm_first=norm_first
                ),
                nn.LayerNorm(32),
                nn.Linear(32, 65),
            )

            def of_tokens(layers: Any = layers) -> Any:
                logits = layers(tokens)
                return nn.functional.cross_entropy(logits.view(-1, 65), tokens.view(-1))

            _train_compiled(torch, layers, of_tokens, kinds[-1:])


def large_arrays(torch: Any) -> None:
    """Launches that go over threads, and arrays from the pool of buffers."""
    x = torch.randn(2048, 1024, requires_grad=True)
    w = torch.randn(1024, 256, requires_grad=True)
    for _ in range(3):
        (x.mm(w).relu() + 1).sum().backward()
        (x * 2 + x.exp()).mean().backward()
        x.t().contiguous().softmax(1).sum().backward()


#: Programs whose kernels are compiled ahead, by name.
PROGRAMS: dict[str, Callable[[Any], None]] = {
    function.__name__: function
    for function in (
        two_layer,
        images,
        transformer,
        sequences,
        operators,
        losses,
        precisions,
        compiled_steps,
        large_arrays,
    )
}


def _compile_at_once() -> None:
    """Have this process compile at once what others compile when it has become worth it."""
    from .executor.cache import background, deferred
    from .executor.memory import buffers as memory
    from .executor.threads import pool
    from .program import run_single

    background.ENABLED = False  # there is a process for each core
    deferred.CALLS_WORTH_COMPILING = 0
    run_single.CALLS_WORTH_COMPILING = 0
    memory.BYTES_WORTH_COMPILING = 0
    pool.SECONDS_WORTH_COMPILING = 0.0


def run_program(name: str) -> None:
    """Run one of :data:`PROGRAMS` in this process."""
    import numbagrad

    _compile_at_once()
    numbagrad.manual_seed(0)
    PROGRAMS[name](numbagrad)


def _environment() -> dict[str, str]:
    """The environment of processes that compile for this CPU what else the package would bring."""
    return {**os.environ, "NUMBAGRAD_SHIPPED": "0"}


_CODE = "import sys; from numbagrad.warming import run_program; run_program(sys.argv[1])"


def _warm_programs() -> int:
    """Run all programs, as many at a time as there are CPUs; returns an exit status."""
    waiting = list(PROGRAMS)
    running: dict[str, tuple[subprocess.Popen[bytes], float]] = {}
    failed: list[str] = []
    while waiting or running:
        while waiting and len(running) < (os.cpu_count() or 1):
            name = waiting.pop(0)
            command = [sys.executable, "-c", _CODE, name]
            running[name] = subprocess.Popen(command, env=_environment()), time.monotonic()
        for name, (process, start) in list(running.items()):
            if process.poll() is not None:
                del running[name]
                seconds = time.monotonic() - start
                if process.returncode:
                    failed.append(name)
                print(f"{name}: {'failed' if process.returncode else 'ready'}, {seconds:.1f} s")
        time.sleep(0.05)
    return 1 if failed else 0


def _newest_entry() -> float:
    """When the newest kernel of the user's cache was written, or 0."""
    from .executor.cache.library import cache

    folder = cache().directory
    if not folder.is_dir():
        return 0.0
    return max((entry.stat().st_mtime for entry in folder.glob("*.o")), default=0.0)


#: Seconds between two looks whether a script has compiled something.
_BETWEEN_LOOKS = 0.2


def _warm_script(script: Sequence[str], quiet: float) -> int:
    """Run a script until it ends, or has compiled nothing for ``quiet`` seconds."""
    command = [sys.executable, "-m", "numbagrad", *script]
    # A script that ends early would leave behind what other processes have not compiled yet.
    environment = {**_environment(), "NUMBAGRAD_BACKGROUND": "0"}
    process = subprocess.Popen(command, env=environment)
    newest, looks = _newest_entry(), 0
    while process.poll() is None:
        time.sleep(_BETWEEN_LOOKS)
        before, newest = newest, _newest_entry()
        # Looks are counted, as time also goes by while the machine, and the script, is suspended.
        looks = looks + 1 if newest == before else 0
        if looks * _BETWEEN_LOOKS > quiet:
            process.terminate()
            process.wait()
            print(
                f"{script[0]} compiled nothing for {quiet:g} s and was ended; its kernels are ready"
            )
            return 0
    return process.returncode


def main(arguments: Sequence[str]) -> int:
    """The command line ``python -m numbagrad warm``; returns an exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m numbagrad warm",
        description="Compile kernels now, on all CPUs, rather than when they are first needed.",
    )
    parser.add_argument(
        "--quiet", type=float, default=10.0, metavar="SECONDS",
        help="end the script when it has compiled nothing for so long (10)",
    )  # fmt: skip
    parser.add_argument(
        "script", nargs=argparse.REMAINDER,
        help="a script and its arguments, run until it compiles nothing any more; "
        "without one the kernels of the usual layers are compiled",
    )  # fmt: skip
    options = parser.parse_args(arguments)
    if not options.script:
        return _warm_programs()
    if not pathlib.Path(options.script[0]).is_file():
        parser.error(f"there is no script {options.script[0]}")
    return _warm_script(options.script, options.quiet)
