"""``torch.utils.tensorboard``: curves, histograms, images and text for TensorBoard.

As with torch, the package ``tensorboard`` has the format of the files and has to be installed;
``summary.py`` makes the entries, ``writer.py`` writes them. Imported when a program asks for it.

Raises:
    ImportError: at the import, without ``tensorboard``.
"""

try:
    import tensorboard  # noqa: F401
except ImportError as error:
    raise ImportError(
        "torch.utils.tensorboard writes with the package tensorboard, which is not installed: "
        "pip install tensorboard"
    ) from error

from tensorboard.summary.writer.record_writer import RecordWriter

from .writer import FileWriter, SummaryWriter

__all__ = ["FileWriter", "RecordWriter", "SummaryWriter"]
