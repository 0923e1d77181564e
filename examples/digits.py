"""Recognise handwritten digits with a small network: training that can be killed and goes on.

Run it with ``make digits``, or alone once the ``examples`` extra is installed; ``--help`` lists the
options. After every epoch it saves a checkpoint. When it is started again, after Ctrl-C, a crash or
a power cut, it goes on from there and ends with exactly the numbers of an uninterrupted run.
"""

import argparse
from pathlib import Path

from matplotlib.figure import Figure
from sklearn.datasets import load_digits
from tqdm import tqdm

import numbagrad as torch
from numbagrad import nn

BATCH = 32
HELD_OUT = 360


def load_images():
    """Return images of 8×8 pixels as rows of 64 numbers, with labels: to train on, and to test."""
    digits = load_digits()
    images = torch.from_numpy(digits.data).float() / 16
    labels = torch.from_numpy(digits.target)
    # The images are sorted by writer, so they are shuffled; always in the same way.
    order = torch.randperm(len(images), generator=torch.Generator().manual_seed(0))
    test, train = order[:HELD_OUT], order[HELD_OUT:]
    return (images[train], labels[train]), (images[test], labels[test])


def build_model():
    """Return the network: 64 pixels, two hidden layers, a score for each of ten digits."""
    return nn.Sequential(
        nn.Linear(64, 256),
        nn.ReLU(),
        nn.Dropout(0.4),
        nn.Linear(256, 64),
        nn.ReLU(),
        nn.Linear(64, 10),
    )


def train_epoch(model, optimizer, images, labels):
    """Take every image once, in random order; return the mean loss."""
    model.train()
    total = 0.0
    for batch in torch.randperm(len(images)).split(BATCH):
        loss = nn.functional.cross_entropy(model(images[batch]), labels[batch])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(batch)
    return total / len(images)


def accuracy(model, images, labels):
    """Return the share of images whose digit gets the highest score."""
    model.eval()
    with torch.no_grad():
        guesses = model(images).argmax(dim=1)
    return (guesses == labels).float().mean().item()


class Training:
    """Everything a run depends on, so that a checkpoint can hold it and bring it back."""

    def __init__(self):
        torch.manual_seed(1)
        self.model = build_model()
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=2e-3)
        self.schedule = torch.optim.lr_scheduler.ExponentialLR(self.optimizer, gamma=0.95)
        self.losses, self.accuracies = [], []

    def save(self, path):
        """Write a checkpoint; a process killed in the midst of it leaves the previous one."""
        state = {
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "schedule": self.schedule.state_dict(),
            # The random numbers decide the order of the images and what Dropout drops.
            "random": torch.get_rng_state(),
            "losses": self.losses,
            "accuracies": self.accuracies,
        }
        torch.save(state, path)

    def load(self, path):
        """Go on from a checkpoint."""
        state = torch.load(path)
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.schedule.load_state_dict(state["schedule"])
        torch.set_rng_state(state["random"])
        self.losses, self.accuracies = state["losses"], state["accuracies"]


def plot(training, path):
    """Write the loss and the accuracy of every epoch to a PNG file."""
    figure = Figure(figsize=(7, 4), layout="constrained")
    loss, held_out = figure.subplots(2, sharex=True)
    loss.semilogy(training.losses)
    loss.set_ylabel("training loss")
    held_out.plot([100 * value for value in training.accuracies])
    held_out.set(xlabel="epoch", ylabel="held-out accuracy, %", ylim=(90, 100))
    figure.savefig(path, dpi=150)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--epochs", type=int, default=60)
    parser.add_argument("--checkpoint", type=Path, default=Path("digits_checkpoint.pt"))
    parser.add_argument("--plot", type=Path, default=Path("digits.png"))
    parser.add_argument("--fresh", action="store_true", help="start anew, whatever was saved")
    options = parser.parse_args()

    (images, labels), held_out = load_images()
    training = Training()
    if options.checkpoint.exists() and not options.fresh:
        training.load(options.checkpoint)
        print(f"going on from {options.checkpoint}, after epoch {len(training.losses)}")

    epochs = range(len(training.losses), options.epochs)
    bar = tqdm(epochs, initial=epochs.start, total=options.epochs, desc="training", unit="epoch")
    for _ in bar:
        training.losses.append(train_epoch(training.model, training.optimizer, images, labels))
        training.schedule.step()
        training.accuracies.append(accuracy(training.model, *held_out))
        training.save(options.checkpoint)
        bar.set_postfix(
            loss=f"{training.losses[-1]:.4f}", held_out=f"{training.accuracies[-1]:.2%}"
        )

    plot(training, options.plot)
    print(f"after {len(training.losses)} epochs: training loss {training.losses[-1]!r}")
    print(f"right on {training.accuracies[-1]:.2%} of {HELD_OUT} images it has never seen")
    print(f"curves: {options.plot}, checkpoint: {options.checkpoint}")


if __name__ == "__main__":
    main()
