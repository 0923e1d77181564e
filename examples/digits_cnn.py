"""Recognise handwritten digits with a small convolutional network.

Three convolutions with batch normalisation, on images of 8×8 pixels. Images are moved by up to a
pixel while training, since a digit is the same digit there; 99 % of those it has never seen are
recognised. Run it with ``make example NAME=digits_cnn``; ``--help`` lists the options.
"""

from matplotlib.figure import Figure
from sklearn.datasets import load_digits
from training import Training, parse

import numbagrad as torch
from numbagrad import nn

BATCH = 32
HELD_OUT = 360


def load_images():
    """Return images (count, 1, 8, 8) with labels: to train on, and to test."""
    digits = load_digits()
    images = torch.from_numpy(digits.images).float().unsqueeze(1) / 16
    labels = torch.from_numpy(digits.target)
    # The images are sorted by writer, so they are shuffled; always in the same way.
    order = torch.randperm(len(images), generator=torch.Generator().manual_seed(0))
    test, train = order[:HELD_OUT], order[HELD_OUT:]
    return (images[train], labels[train]), (images[test], labels[test])


def block(inputs, outputs):
    """Return a convolution that keeps the size, normalised and rectified."""
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU()
    )


def build_model():
    """Return the network: 8×8 pixels, twice halved, a score for each of ten digits."""
    return nn.Sequential(
        block(1, 32),
        block(32, 32),
        nn.MaxPool2d(2),
        block(32, 64),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Dropout(0.3),
        nn.Linear(64 * 2 * 2, 10),
    )


def moved(images):
    """Return the images, all moved by the same few pixels, with zeros where nothing was."""
    down, right = torch.randint(0, 3, (2,)).tolist()
    return nn.functional.pad(images, (1, 1, 1, 1))[:, :, down : down + 8, right : right + 8]


def accuracy(model, images, labels):
    """Return the share of images whose digit gets the highest score."""
    model.eval()
    with torch.no_grad():
        guesses = model(images).argmax(dim=1)
    return (guesses == labels).float().mean().item()


def plot(history, path):
    """Write the loss and the accuracy of every epoch to a file."""
    figure = Figure(figsize=(7, 4), layout="constrained")
    loss, held_out = figure.subplots(2, sharex=True)
    loss.semilogy(history["loss"])
    loss.set_ylabel("training loss")
    held_out.plot([100 * value for value in history["held_out"]])
    held_out.set(xlabel="epoch", ylabel="held-out accuracy, %", ylim=(94, 100))
    figure.savefig(path, dpi=150)


def main():
    options = parse(__doc__, "digits_cnn", epochs=25)
    (images, labels), held_out = load_images()
    torch.manual_seed(0)
    model = build_model()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.05)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=25)
    training = Training(model=model, optimizer=optimizer, schedule=schedule)

    def epoch():
        model.train()
        total = 0.0
        for batch in torch.randperm(len(images)).split(BATCH):
            loss = nn.functional.cross_entropy(model(moved(images[batch])), labels[batch])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(batch)
        schedule.step()
        return {"loss": total / len(images), "held_out": accuracy(model, *held_out)}

    training.run(epoch, options)
    plot(training.history, options.plot)
    print(f"after {training.epochs} epochs: training loss {training.history['loss'][-1]!r}")
    print(f"right on {training.history['held_out'][-1]:.2%} of {HELD_OUT} images never seen")
    print(f"curves: {options.plot}, checkpoint: {options.checkpoint}")


if __name__ == "__main__":
    main()
