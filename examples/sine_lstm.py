"""Continue a sine wave with an LSTM that has only seen others.

The network is shown the first values of a wave, of random frequency and phase, and goes on alone,
each of its answers being its next input. It is trained on just that: the loss is of the values it
found alone, so gradients go back through all of its answers. Run it with
``make example NAME=sine_lstm``; ``--help`` lists the options.
"""

import math

from matplotlib.figure import Figure
from training import Training, parse

import numbagrad as torch
from numbagrad import nn

SHOWN, ALONE = 30, 30
BATCH, STEPS = 32, 20


def waves(count, length):
    """Return sine waves (length, count, 1) of random frequency and phase."""
    frequency = 0.2 + 0.2 * torch.rand(count)
    phase = 2 * math.pi * torch.rand(count)
    times = torch.arange(length, dtype=torch.float32)
    return torch.sin(times[:, None] * frequency + phase).unsqueeze(-1)


class Forecaster(nn.Module):
    """The next value of a series, from an LSTM over the values so far."""

    def __init__(self, hidden=64):
        super().__init__()
        self.lstm = nn.LSTM(1, hidden)
        self.head = nn.Linear(hidden, 1)

    def forward(self, series, state=None):
        """Return what follows each value of ``series`` (length, count, 1), and the state."""
        seen, state = self.lstm(series, state)
        return series + self.head(seen), state

    def go_on(self, series, steps):
        """Return ``steps`` further values (steps, count, 1), each answer being the next input."""
        guesses, state = self(series)
        answers = [guesses[-1:]]
        while len(answers) < steps:
            guess, state = self(answers[-1], state)
            answers.append(guess)
        return torch.cat(answers)


@torch.no_grad()
def unseen(model, count, seed):
    """Return waves that no training drew, and how the network goes on, twice as long as trained."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        series = waves(count, SHOWN + 2 * ALONE)
    return series, model.go_on(series[:SHOWN], 2 * ALONE)


def error(model):
    """Return the root of the mean squared error of what the network finds alone."""
    series, found = unseen(model, count=16, seed=1)
    return (found - series[SHOWN:]).pow(2).mean().sqrt().item()


def plot(model, history, path):
    """Write the loss, and a wave with what the network makes of its second part, to a file."""
    figure = Figure(figsize=(7, 4.5), layout="constrained")
    loss, wave = figure.subplots(2)
    loss.semilogy(history["loss"])
    loss.set(xlabel="epoch", ylabel="training loss")
    series, found = unseen(model, count=1, seed=2)
    wave.plot(series[:, 0, 0].tolist(), color="0.7", linewidth=3, label="the wave")
    times = range(SHOWN, len(series))
    wave.plot(times, found[:, 0, 0].tolist(), "--", label="the network, alone")
    wave.set(xlabel="time")
    wave.legend(loc="upper right")
    figure.savefig(path, dpi=150)


def main():
    options = parse(__doc__, "sine_lstm", epochs=60)
    torch.manual_seed(0)
    model = Forecaster()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=60)
    training = Training(model=model, optimizer=optimizer, schedule=schedule)

    def epoch():
        total = 0.0
        for _ in range(STEPS):
            series = waves(BATCH, SHOWN + ALONE)
            found = model.go_on(series[:SHOWN], ALONE)
            loss = nn.functional.mse_loss(found, series[SHOWN:])
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            total += loss.item()
        schedule.step()
        return {"loss": total / STEPS, "error": error(model)}

    training.run(epoch, options)
    plot(model, training.history, options.plot)
    print(f"after {training.epochs} epochs: training loss {training.history['loss'][-1]!r}")
    last = training.history["error"][-1]
    print(f"root mean squared error of {2 * ALONE} values found alone: {last:.4f}")
    print(f"curves: {options.plot}, checkpoint: {options.checkpoint}")


if __name__ == "__main__":
    main()
