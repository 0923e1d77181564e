"""What the examples share: a command line, a bar, and a run that can be killed and goes on.

A run is made of parts with a ``state_dict`` (model, optimizer, schedule), of random numbers, and of
a history: the numbers that each epoch returned. After every epoch all of it is written to one file.
Killed at any moment and started again, a run goes on from there, and ends with exactly the numbers
of one that was never stopped.
"""

import argparse
from pathlib import Path

from tqdm import tqdm

import numbagrad as torch


def parse(description, name, epochs):
    """Read the command line that all examples have.

    Args:
        description: the docstring of the example; its first line heads ``--help``.
        name: what files are called if the command line does not say.
        epochs: how many epochs a whole run has.
    """
    parser = argparse.ArgumentParser(description=description.partition("\n")[0])
    parser.add_argument("--epochs", type=int, default=epochs)
    parser.add_argument("--checkpoint", type=Path, default=Path(f"{name}_checkpoint.pt"))
    parser.add_argument("--plot", type=Path, default=Path(f"{name}.png"))
    parser.add_argument("--fresh", action="store_true", help="start anew, whatever was saved")
    return parser.parse_args()


class Training:
    """Everything that a run depends on.

    Args:
        parts: what has a ``state_dict`` and a ``load_state_dict``, by name.

    Attributes:
        history: for each number that an epoch returns, the list of its values so far.
        epochs: how many epochs were run.
    """

    def __init__(self, **parts):
        self.parts = parts
        self.history = {}
        self.epochs = 0

    def save(self, path):
        """Write a checkpoint; a process killed in the midst of it leaves the previous one."""
        state = {name: part.state_dict() for name, part in self.parts.items()}
        state |= {"random": torch.get_rng_state(), "history": self.history, "epochs": self.epochs}
        torch.save(state, path)

    def load(self, path):
        """Go on from a checkpoint."""
        state = torch.load(path)
        for name, part in self.parts.items():
            part.load_state_dict(state[name])
        torch.set_rng_state(state["random"])
        self.history, self.epochs = state["history"], state["epochs"]

    def run(self, epoch, options):
        """Call ``epoch()`` until ``options.epochs`` were run, with a bar and a checkpoint for each.

        Args:
            epoch: trains, and returns a dict of the numbers that it is to be judged by.
            options: what ``parse`` returned.
        """
        if options.checkpoint.exists() and not options.fresh:
            self.load(options.checkpoint)
            print(f"going on from {options.checkpoint}, after epoch {self.epochs}")
        left = range(self.epochs, options.epochs)
        bar = tqdm(left, initial=self.epochs, total=options.epochs, desc="training", unit="epoch")
        for _ in bar:
            numbers = epoch()
            for name, number in numbers.items():
                self.history.setdefault(name, []).append(number)
            self.epochs += 1
            self.save(options.checkpoint)
            bar.set_postfix({name: f"{number:.4g}" for name, number in numbers.items()})
