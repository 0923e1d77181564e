"""A small GPT that learns to write as this repository's own documentation does, letter by letter.

A transformer of three blocks over 64 characters (Radford et al., "Language Models are Unsupervised
Multitask Learners"), trained on ``docs/design.md``, then asked to write. Run it with
``make example NAME=char_gpt``; ``--help`` lists the options.
"""

import math
from pathlib import Path

from matplotlib.figure import Figure
from training import Training, parse

import numbagrad as torch
from numbagrad import nn

TEXT = Path(__file__).parent.parent / "docs" / "design.md"
CONTEXT, BATCH, STEPS = 64, 24, 50
WIDTH, HEADS, BLOCKS = 96, 4, 3


class Block(nn.Module):
    """Attention to what came before, then two layers for each position; both added to the input."""

    def __init__(self):
        super().__init__()
        self.before_attention = nn.LayerNorm(WIDTH)
        self.attention = nn.Linear(WIDTH, 3 * WIDTH)
        self.mix = nn.Linear(WIDTH, WIDTH)
        self.before_layers = nn.LayerNorm(WIDTH)
        self.layers = nn.Sequential(
            nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH)
        )

    def forward(self, x):
        """Return (batch, length, width) from the same."""
        batch, length, _ = x.shape
        parts = self.attention(self.before_attention(x)).view(batch, length, 3, HEADS, -1)
        query, key, value = parts.permute(2, 0, 3, 1, 4).unbind(0)
        found = nn.functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.mix(found.transpose(1, 2).reshape(batch, length, WIDTH))
        return x + self.layers(self.before_layers(x))


class Writer(nn.Module):
    """Scores for the character after each of a text."""

    def __init__(self, characters):
        super().__init__()
        self.characters = nn.Embedding(characters, WIDTH)
        self.positions = nn.Embedding(CONTEXT, WIDTH)
        self.blocks = nn.Sequential(*[Block() for _ in range(BLOCKS)])
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, characters)

    def forward(self, text):
        """Return scores (batch, length, characters) for numbers of characters (batch, length)."""
        x = self.characters(text) + self.positions(torch.arange(text.shape[1]))
        return self.head(self.norm(self.blocks(x)))

    @torch.no_grad()
    def write(self, text, count, temperature=0.7):
        """Return ``text`` (length,) with ``count`` characters drawn one by one."""
        for _ in range(count):
            scores = self(text[-CONTEXT:].unsqueeze(0))[0, -1]
            drawn = torch.multinomial((scores / temperature).softmax(0), 1)
            text = torch.cat([text, drawn])
        return text


def loss_of(model, text, starts):
    """Return the mean cross entropy of the characters after each of ``CONTEXT``, in nats."""
    positions = starts.unsqueeze(1) + torch.arange(CONTEXT)
    scores = model(text[positions])
    return nn.functional.cross_entropy(scores.flatten(0, 1), text[positions + 1].flatten())


@torch.no_grad()
def held_out_loss(model, text):
    """Return the loss over a text, from its beginning to its end."""
    return loss_of(model, text, torch.arange(0, len(text) - CONTEXT - 1, CONTEXT)).item()


def plot(history, path):
    """Write the losses of all epochs to a file."""
    figure = Figure(figsize=(7, 3.5), layout="constrained")
    axes = figure.add_subplot(xlabel="epoch", ylabel="bits a character")
    for name, label in (("loss", "training"), ("held_out", "held out")):
        axes.plot([number / math.log(2) for number in history[name]], label=label)
    axes.legend()
    figure.savefig(path, dpi=150)


def main():
    options = parse(__doc__, "char_gpt", epochs=40)
    # As much as is read ten times over within the steps of a whole run.
    letters = TEXT.read_text(encoding="utf-8")[:60_000]
    alphabet = sorted(set(letters))
    numbers = {letter: number for number, letter in enumerate(alphabet)}
    text = torch.tensor([numbers[letter] for letter in letters])
    split = len(text) * 9 // 10
    known, unseen = text[:split], text[split:]

    torch.manual_seed(0)
    model = Writer(len(alphabet))
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.1)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=40)
    training = Training(model=model, optimizer=optimizer, schedule=schedule)

    def epoch():
        total = 0.0
        for _ in range(STEPS):
            loss = loss_of(model, known, torch.randint(0, split - CONTEXT - 1, (BATCH,)))
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            total += loss.item()
        schedule.step()
        return {"loss": total / STEPS, "held_out": held_out_loss(model, unseen)}

    training.run(epoch, options)
    plot(training.history, options.plot)
    print(f"after {training.epochs} epochs: training loss {training.history['loss'][-1]!r}")
    print(f"held out: {training.history['held_out'][-1] / math.log(2):.3f} bits a character")
    print("-" * 80)
    start = "A kernel is "
    written = model.write(torch.tensor([numbers[letter] for letter in start]), 400)
    print("".join(alphabet[number] for number in written.tolist()))
    print("-" * 80)
    print(f"curves: {options.plot}, checkpoint: {options.checkpoint}")


if __name__ == "__main__":
    main()
