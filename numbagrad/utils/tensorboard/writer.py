"""``SummaryWriter``: writes entries (``summary.py``) into files below a folder, in a thread.

The files are those of ``tensorboard``'s ``EventFileWriter``. Videos and ONNX are refused by name; a
warning says that graphs of modules are not written.
"""

from __future__ import annotations

import contextlib
import csv
import datetime
import os
import socket
import time
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from tensorboard.compat.proto.event_pb2 import Event, SessionLog
from tensorboard.summary.writer.event_file_writer import EventFileWriter

from . import summary


class FileWriter:
    """Events of one folder: ``add_event`` and ``add_summary`` give each its time and its step."""

    def __init__(
        self, log_dir: Any, max_queue: int = 10, flush_secs: int = 120, filename_suffix: str = ""
    ):
        self.event_writer = EventFileWriter(
            os.fspath(log_dir), max_queue, flush_secs, filename_suffix
        )
        self.flush, self.close = self.event_writer.flush, self.event_writer.close

    def get_logdir(self) -> str:
        """The folder."""
        found: str = self.event_writer.get_logdir()
        return found

    def add_event(self, event: Any, step: Any = None, walltime: float | None = None) -> None:
        """Write an event, which becomes that of a step and a time, now by default."""
        event.wall_time = time.time() if walltime is None else walltime
        if step is not None:
            event.step = int(step)
        self.event_writer.add_event(event)

    def add_summary(
        self, summary: Any, global_step: Any = None, walltime: float | None = None
    ) -> None:
        """Write an entry."""
        self.add_event(Event(summary=summary), global_step, walltime)


class SummaryWriter:
    """Writes what TensorBoard shows of a run.

    Args:
        log_dir: the folder; by default ``runs/<date>_<host><comment>``.
        purge_step: what an earlier run of the folder wrote from this step on is not shown.
        max_queue, flush_secs: how many entries, and seconds, wait at most.
    """

    def __init__(
        self, log_dir: Any = None, comment: str = "", purge_step: int | None = None,
        max_queue: int = 10, flush_secs: int = 120, filename_suffix: str = "",
    ):  # fmt: skip
        if not log_dir:
            date = datetime.datetime.now().strftime("%b%d_%H-%M-%S")
            log_dir = os.path.join("runs", f"{date}_{socket.gethostname()}{comment}")
        self.log_dir = log_dir
        self.purge_step, self.max_queue = purge_step, max_queue
        self.flush_secs, self.filename_suffix = flush_secs, filename_suffix
        self.file_writer: FileWriter | None = None
        self.all_writers: dict[str, FileWriter] | None = None
        self._get_file_writer()

    def _open(self, folder: Any) -> FileWriter:
        return FileWriter(folder, self.max_queue, self.flush_secs, self.filename_suffix)

    def _get_file_writer(self) -> FileWriter:
        """The writer of the folder, opened again after ``close``."""
        if self.file_writer is None or self.all_writers is None:
            self.file_writer = made = self._open(self.log_dir)
            self.all_writers = {made.get_logdir(): made}
            if self.purge_step is not None:
                made.add_event(Event(file_version="brain.Event:2"), self.purge_step)
                start = SessionLog(status=SessionLog.START)
                made.add_event(Event(session_log=start), self.purge_step)
                self.purge_step = None
        return self.file_writer

    def get_logdir(self) -> Any:
        """The folder."""
        return self.log_dir

    def _add(self, made: Any, step: Any, walltime: float | None) -> None:
        self._get_file_writer().add_summary(made, step, walltime)

    def add_scalar(
        self, tag: str, scalar_value: Any, global_step: Any = None, walltime: float | None = None,
        new_style: bool = False, double_precision: bool = False,
    ) -> None:  # fmt: skip
        """A number of a curve."""
        self._add(
            summary.scalar(tag, scalar_value, new_style, double_precision), global_step, walltime
        )

    def add_scalars(
        self, main_tag: str, tag_scalar_dict: dict[str, Any], global_step: Any = None,
        walltime: float | None = None,
    ) -> None:  # fmt: skip
        """Numbers of several curves of one chart, each in a folder of its own."""
        walltime = time.time() if walltime is None else walltime
        base = self._get_file_writer().get_logdir()
        assert self.all_writers is not None
        for tag, value in tag_scalar_dict.items():
            folder = f"{base}/{main_tag.replace('/', '_')}_{tag}"
            if folder not in self.all_writers:
                self.all_writers[folder] = self._open(folder)
            writer = self.all_writers[folder]
            writer.add_summary(summary.scalar(main_tag, value), global_step, walltime)

    def add_tensor(
        self, tag: str, tensor: Any, global_step: Any = None, walltime: float | None = None
    ) -> None:
        """A whole tensor."""
        self._add(summary.tensor_proto(tag, tensor), global_step, walltime)

    def add_histogram(
        self, tag: str, values: Any, global_step: Any = None, bins: Any = "tensorflow",
        walltime: float | None = None, max_bins: int | None = None,
    ) -> None:  # fmt: skip
        """How values are distributed."""
        self._add(summary.histogram(tag, values, bins, max_bins), global_step, walltime)

    def add_histogram_raw(
        self, tag: str, min: Any, max: Any, num: Any, sum: Any, sum_squares: Any,
        bucket_limits: Any, bucket_counts: Any, global_step: Any = None,
        walltime: float | None = None,
    ) -> None:  # fmt: skip
        """A histogram that has been counted.

        Raises:
            ValueError: unless there are as many limits as counts.
        """
        if len(bucket_limits) != len(bucket_counts):
            raise ValueError(
                f"add_histogram_raw: {len(bucket_limits)} bucket_limits and {len(bucket_counts)} "
                "bucket_counts; there are as many of both"
            )
        made = summary.histogram_raw(
            tag, min, max, num, sum, sum_squares, bucket_limits, bucket_counts
        )
        self._add(made, global_step, walltime)

    def add_image(
        self, tag: str, img_tensor: Any, global_step: Any = None, walltime: float | None = None,
        dataformats: str = "CHW",
    ) -> None:  # fmt: skip
        """A picture."""
        self._add(summary.image(tag, img_tensor, 1, dataformats), global_step, walltime)

    def add_images(
        self, tag: str, img_tensor: Any, global_step: Any = None, walltime: float | None = None,
        dataformats: str = "NCHW",
    ) -> None:  # fmt: skip
        """Pictures in a grid."""
        self._add(summary.image(tag, img_tensor, 1, dataformats), global_step, walltime)

    def add_image_with_boxes(
        self, tag: str, img_tensor: Any, box_tensor: Any, global_step: Any = None,
        walltime: float | None = None, rescale: float = 1, dataformats: str = "CHW",
        labels: Any = None,
    ) -> None:  # fmt: skip
        """A picture with frames, and a label for each."""
        labels = [labels] if isinstance(labels, str) else labels
        boxes = summary.as_array(box_tensor)
        if labels is not None and len(labels) != len(boxes):
            labels = None
        made = summary.image_boxes(tag, img_tensor, boxes, rescale, dataformats, labels)
        self._add(made, global_step, walltime)

    def add_figure(
        self, tag: str, figure: Any, global_step: Any = None, close: bool = True,
        walltime: float | None = None,
    ) -> None:  # fmt: skip
        """A figure of matplotlib, or several of one size."""
        figures = figure if isinstance(figure, list) else [figure]
        pictures = []
        for each in figures:
            each.canvas.draw()
            pictures.append(np.asarray(each.canvas.buffer_rgba())[..., :3])
        if close:
            from matplotlib import pyplot

            for each in figures:
                pyplot.close(each)
        self.add_images(tag, np.stack(pictures), global_step, walltime, "NHWC")

    def add_audio(
        self, tag: str, snd_tensor: Any, global_step: Any = None, sample_rate: int = 44100,
        walltime: float | None = None,
    ) -> None:  # fmt: skip
        """A sound, numbers from -1 to 1."""
        self._add(summary.audio(tag, snd_tensor, sample_rate), global_step, walltime)

    def add_text(
        self, tag: str, text_string: str, global_step: Any = None, walltime: float | None = None
    ) -> None:
        """A text in Markdown."""
        self._add(summary.text(tag, text_string), global_step, walltime)

    def add_pr_curve(
        self, tag: str, labels: Any, predictions: Any, global_step: Any = None,
        num_thresholds: int = 127, weights: Any = None, walltime: float | None = None,
    ) -> None:  # fmt: skip
        """Precision and recall of probabilities."""
        made = summary.pr_curve(tag, labels, predictions, num_thresholds, weights)
        self._add(made, global_step, walltime)

    def add_pr_curve_raw(
        self, tag: str, true_positive_counts: Any, false_positive_counts: Any,
        true_negative_counts: Any, false_negative_counts: Any, precision: Any, recall: Any,
        global_step: Any = None, num_thresholds: int = 127, weights: Any = None,
        walltime: float | None = None,
    ) -> None:  # fmt: skip
        """A curve of precision and recall that has been computed."""
        made = summary.pr_curve_raw(
            tag, true_positive_counts, false_positive_counts, true_negative_counts,
            false_negative_counts, precision, recall, num_thresholds,
        )  # fmt: skip
        self._add(made, global_step, walltime)

    def add_custom_scalars(self, layout: dict[str, dict[str, Sequence[Any]]]) -> None:
        """Charts of several curves: ``{category: {chart: ["Multiline" or "Margin", tags]}}``."""
        self._add(summary.custom_scalars(layout), None, None)

    def add_custom_scalars_multilinechart(
        self, tags: Sequence[str], category: str = "default", title: str = "untitled"
    ) -> None:
        """A chart of several curves."""
        self.add_custom_scalars({category: {title: ["Multiline", tags]}})

    def add_custom_scalars_marginchart(
        self, tags: Sequence[str], category: str = "default", title: str = "untitled"
    ) -> None:
        """A curve between two others: the value, the lower and the upper one."""
        if len(tags) != 3:
            raise ValueError(f"a chart with a margin has 3 tags, got {len(tags)}")
        self.add_custom_scalars({category: {title: ["Margin", tags]}})

    def add_mesh(
        self, tag: str, vertices: Any, colors: Any = None, faces: Any = None,
        config_dict: Any = None, global_step: Any = None, walltime: float | None = None,
    ) -> None:  # fmt: skip
        """Points, or triangles, in space."""
        for made in summary.mesh(tag, vertices, colors, faces, config_dict):
            self._add(made, global_step, walltime)

    def add_hparams(
        self, hparam_dict: dict[str, Any], metric_dict: dict[str, Any],
        hparam_domain_discrete: dict[str, list[Any]] | None = None, run_name: str | None = None,
        global_step: Any = None,
    ) -> None:  # fmt: skip
        """The settings of a run beside its results, as a run of their own below the folder."""
        if not isinstance(hparam_dict, dict) or not isinstance(metric_dict, dict):
            raise TypeError("add_hparams: hparam_dict and metric_dict are dictionaries")
        made = summary.hparams(hparam_dict, metric_dict, hparam_domain_discrete)
        folder = os.path.join(self._get_file_writer().get_logdir(), run_name or str(time.time()))
        with SummaryWriter(folder) as writer:
            for entry in made:
                writer._add(entry, None, None)
            for tag, value in metric_dict.items():
                writer.add_scalar(tag, value, global_step)

    def add_embedding(
        self, mat: Any, metadata: Sequence[Any] | None = None, label_img: Any = None,
        global_step: Any = None, tag: str = "default", metadata_header: Any = None,
    ) -> None:  # fmt: skip
        """Points of a projector: a row each, with labels, and pictures (N, C, H, W).

        Raises:
            ValueError: if there are not as many labels or pictures as rows.
        """
        from google.protobuf import text_format
        from PIL import Image
        from tensorboard.plugins.projector.projector_config_pb2 import ProjectorConfig

        rows = summary.as_array(mat)
        if rows.ndim != 2:
            raise ValueError(f"add_embedding takes a matrix, got an array of shape {rows.shape}")
        for name, given in (("metadata", metadata), ("label_img", label_img)):
            if given is not None and len(given) != len(rows):
                raise ValueError(
                    f"add_embedding: {name} has {len(given)} entries for {len(rows)} rows"
                )
        base = os.fspath(self._get_file_writer().get_logdir())
        name = f"{0 if global_step is None else int(global_step):05d}/{tag.replace('/', '_')}"
        os.makedirs(os.path.join(base, name), exist_ok=True)

        def write(file: str, lines: Any) -> str:
            with open(os.path.join(base, name, file), "w", newline="", encoding="utf-8") as target:
                csv.writer(target, delimiter="\t", lineterminator="\n").writerows(lines)
            return f"{name}/{file}"

        config, path = ProjectorConfig(), os.path.join(base, "projector_config.pbtxt")
        with contextlib.suppress(FileNotFoundError), open(path, encoding="utf-8") as known:
            text_format.Parse(known.read(), config)
        entry = config.embeddings.add(tensor_name=f"{tag}:{name[:5]}")
        entry.tensor_path = write("tensors.tsv", rows.tolist())
        if metadata is not None:
            header = [metadata_header] if metadata_header else []
            labels = [m if isinstance(m, (list, tuple)) else [m] for m in metadata]
            entry.metadata_path = write("metadata.tsv", [*header, *labels])
        if label_img is not None:
            pictures = summary.as_array(label_img)
            side = int(np.ceil(len(pictures) ** 0.5))
            empty = np.zeros((side * side - len(pictures), *pictures.shape[1:]), pictures.dtype)
            pictures = np.concatenate([pictures, empty])
            lines = [
                np.concatenate(list(line), 2)
                for line in pictures.reshape(side, side, *pictures.shape[1:])
            ]
            sprite = summary.pixels(np.concatenate(lines, 1), "CHW")
            Image.fromarray(sprite).save(os.path.join(base, name, "sprite.png"))
            entry.sprite.image_path = f"{name}/sprite.png"
            entry.sprite.single_image_dim.extend([pictures.shape[3], pictures.shape[2]])
        with open(path, "w", encoding="utf-8") as known:
            known.write(text_format.MessageToString(config))

    def add_graph(self, model: Any, *arguments: Any, **options: Any) -> None:
        """Writes nothing, and says so; ``explain(model)(x)`` shows what a module computes."""
        warnings.warn(
            "SummaryWriter.add_graph writes nothing; explain(model)(x) shows what a module does",
            stacklevel=2,
        )

    def add_onnx_graph(self, prototxt: Any) -> None:
        """Refused: nothing here reads ONNX."""
        raise NotImplementedError("SummaryWriter.add_onnx_graph: nothing here reads ONNX")

    def add_video(self, tag: str, vid_tensor: Any, *arguments: Any, **options: Any) -> None:
        """Refused: nothing here encodes videos."""
        raise NotImplementedError(
            "SummaryWriter.add_video: nothing here encodes videos; add_images shows some frames"
        )

    def flush(self) -> None:
        """Write what is waiting."""
        for writer in (self.all_writers or {}).values():
            writer.flush()

    def close(self) -> None:
        """Write what is waiting and close the files; the next entry opens new ones."""
        for writer in (self.all_writers or {}).values():
            writer.flush()
            writer.close()
        self.file_writer = self.all_writers = None

    def __enter__(self) -> SummaryWriter:
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()
