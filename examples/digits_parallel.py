"""Recognise handwritten digits, trained by several processes: each takes its part of every batch.

    python -m numbagrad.distributed.run --nproc-per-node 2 examples/digits_parallel.py

or ``mpiexec -n 2 python examples/digits_parallel.py``; alone it is an ordinary program. Rank 0
saves a checkpoint after every epoch. When the job is started again after it was killed, it goes on
from there and ends with exactly the numbers of an uninterrupted run. With another number of
processes it goes on as well; they draw other numbers in Dropout.
"""

import argparse
from pathlib import Path

from digits import HELD_OUT, accuracy, build_model, load_images, plot
from tqdm import tqdm

import numbagrad as torch
import numbagrad.distributed as dist
from numbagrad import nn
from numbagrad.utils.data import DataLoader, DistributedSampler, TensorDataset

#: Images of one step, of all processes together.
BATCH = 32


class Training:
    """Everything a run depends on, so that a checkpoint can hold it and bring it back."""

    def __init__(self, images, labels):
        self.rank, self.size = dist.get_rank(), dist.get_world_size()
        torch.manual_seed(1)
        self.model = nn.parallel.DistributedDataParallel(
            build_model(), gradient_as_bucket_view=True
        )
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=2e-3)
        self.schedule = torch.optim.lr_scheduler.ExponentialLR(self.optimizer, gamma=0.95)
        dataset = TensorDataset(images, labels)
        # All processes draw the same order from the number of the epoch, and take turns.
        self.sampler = DistributedSampler(dataset, drop_last=True)
        self.batches = DataLoader(dataset, BATCH // self.size, sampler=self.sampler, drop_last=True)
        self.losses, self.accuracies = [], []

    def train_epoch(self):
        """Take every image once; return the mean loss of all processes."""
        epoch = len(self.losses)
        self.sampler.set_epoch(epoch)
        # What Dropout drops follows from the epoch and the rank: nothing has to be saved for it.
        torch.manual_seed(1000 * epoch + self.rank)
        self.model.train()
        total = torch.zeros(())
        for images, labels in self.batches:
            loss = nn.functional.cross_entropy(self.model(images), labels)
            self.optimizer.zero_grad()
            loss.backward()  # leaves the mean of the gradients of all processes
            self.optimizer.step()
            total += loss.detach()
        dist.all_reduce(total, dist.ReduceOp.AVG)
        self.schedule.step()
        return total.item() / len(self.batches)

    def save(self, path):
        """Write a checkpoint; a process killed in the midst of it leaves the previous one."""
        if self.rank:
            return
        state = {
            "model": self.model.module.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "schedule": self.schedule.state_dict(),
            "losses": self.losses,
            "accuracies": self.accuracies,
        }
        torch.save(state, path)

    def load(self, path):
        """Go on from a checkpoint: every process reads it."""
        state = torch.load(path)
        self.model.module.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.schedule.load_state_dict(state["schedule"])
        self.losses, self.accuracies = state["losses"], state["accuracies"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--epochs", type=int, default=60)
    parser.add_argument("--checkpoint", type=Path, default=Path("digits_parallel.pt"))
    parser.add_argument("--plot", type=Path, default=Path("digits_parallel.png"))
    parser.add_argument("--fresh", action="store_true", help="start anew, whatever was saved")
    options = parser.parse_args()

    dist.init_process_group()
    (images, labels), held_out = load_images()
    training = Training(images, labels)
    first = training.rank == 0
    if options.checkpoint.exists() and not options.fresh:
        training.load(options.checkpoint)
        if first:
            print(f"going on from {options.checkpoint}, after epoch {len(training.losses)}")
    dist.barrier()  # nobody writes the checkpoint while another process reads it

    epochs = range(len(training.losses), options.epochs)
    bar = tqdm(
        epochs, initial=epochs.start, total=options.epochs, desc=f"{training.size} processes",
        unit="epoch", disable=not first,
    )  # fmt: skip
    for _ in bar:
        training.losses.append(training.train_epoch())
        training.accuracies.append(accuracy(training.model.module, *held_out))
        training.save(options.checkpoint)
        bar.set_postfix(
            loss=f"{training.losses[-1]:.4f}", held_out=f"{training.accuracies[-1]:.2%}"
        )
    if first:
        plot(training, options.plot)
        print(f"after {len(training.losses)} epochs: training loss {training.losses[-1]!r}")
        print(f"right on {training.accuracies[-1]:.2%} of {HELD_OUT} images it has never seen")
        print(f"curves: {options.plot}, checkpoint: {options.checkpoint}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
