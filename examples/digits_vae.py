"""Draw digits that nobody wrote, with a variational autoencoder.

An encoder turns an image into a distribution over eight numbers, a decoder turns eight numbers into
an image; both are trained on the evidence lower bound (Kingma and Welling, "Auto-Encoding
Variational Bayes"). Run it with ``make example NAME=digits_vae``; ``--help`` lists the options.
"""

from matplotlib.figure import Figure
from sklearn.datasets import load_digits
from training import Training, parse

import numbagrad as torch
from numbagrad import nn

BATCH, LATENT, HELD_OUT = 64, 8, 360


def load_images():
    """Return images of 8×8 pixels in [0, 1] as rows of 64 numbers: to train on, and to test."""
    images = torch.from_numpy(load_digits().data).float() / 16
    order = torch.randperm(len(images), generator=torch.Generator().manual_seed(0))
    return images[order[HELD_OUT:]], images[order[:HELD_OUT]]


class Autoencoder(nn.Module):
    """Images to distributions over ``LATENT`` numbers, and such numbers to images."""

    def __init__(self, hidden=256):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Linear(64, hidden), nn.SiLU(), nn.Linear(hidden, 2 * LATENT)
        )
        self.decoder = nn.Sequential(nn.Linear(LATENT, hidden), nn.SiLU(), nn.Linear(hidden, 64))

    def bound(self, images):
        """Return the negative evidence lower bound of each image, in nats.

        Pixels are Bernoulli variables, the prior is normal; one sample is drawn for each image, as
        the mean plus noise times the deviation, so that gradients reach both.
        """
        mean, log_variance = self.encoder(images).chunk(2, dim=1)
        code = mean + torch.randn_like(mean) * (0.5 * log_variance).exp()
        pixels = nn.functional.binary_cross_entropy_with_logits(
            self.decoder(code), images, reduction="none"
        ).sum(1)
        divergence = 0.5 * (mean.square() + log_variance.exp() - 1 - log_variance).sum(1)
        return pixels + divergence

    @torch.no_grad()
    def draw(self, count):
        """Return ``count`` images of codes drawn from the prior."""
        return self.decoder(torch.randn(count, LATENT)).sigmoid()

    @torch.no_grad()
    def again(self, images):
        """Return what the decoder makes of the images' mean codes."""
        return self.decoder(self.encoder(images)[:, :LATENT]).sigmoid()


def plot(model, images, path):
    """Write images, the same from their codes, and images that nobody wrote to a file."""
    with torch.random.fork_rng():
        torch.manual_seed(1)
        drawn = model.draw(36)
    rows = [images[:12], model.again(images[:12]), *drawn.split(12)]
    figure = Figure(figsize=(7, 3.4), layout="constrained")
    for line, row in zip(figure.subplots(len(rows), 12), rows, strict=True):
        for axes, image in zip(line, row, strict=True):
            axes.imshow(image.reshape(8, 8).numpy(), cmap="gray_r", vmin=0, vmax=1)
            axes.axis("off")
    figure.suptitle("images, the same from eight numbers each, and three rows drawn", fontsize=9)
    figure.savefig(path, dpi=150)


def main():
    options = parse(__doc__, "digits_vae", epochs=100)
    images, held_out = load_images()
    torch.manual_seed(0)
    model = Autoencoder()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    training = Training(model=model, optimizer=optimizer)

    def epoch():
        total = 0.0
        for batch in torch.randperm(len(images)).split(BATCH):
            loss = model.bound(images[batch]).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(batch)
        with torch.no_grad():
            unseen = model.bound(held_out).mean().item()
        return {"loss": total / len(images), "held_out": unseen}

    training.run(epoch, options)
    plot(model, held_out, options.plot)
    print(f"after {training.epochs} epochs: training bound {training.history['loss'][-1]!r}")
    print(f"held-out bound: {training.history['held_out'][-1]:.2f} nats an image")
    print(f"images: {options.plot}, checkpoint: {options.checkpoint}")


if __name__ == "__main__":
    main()
