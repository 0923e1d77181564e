"""Entries of TensorBoard's files: a ``Summary`` of protocol buffers for each kind of value.

Called by ``writer.py``, under the names of ``torch.utils.tensorboard.summary``. Values are
Tensors, arrays or numbers; the fields are those of ``tensorboard.compat.proto`` and of the plugins.
"""

from __future__ import annotations

import io
import json
import wave
from collections.abc import Sequence
from typing import Any

import numpy as np
from tensorboard.compat.proto.summary_pb2 import HistogramProto, Summary, SummaryMetadata
from tensorboard.compat.proto.tensor_pb2 import TensorProto
from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto

from ...tensor import Tensor

Array = np.ndarray[Any, Any]


def as_array(value: Any) -> Array:
    """An ndarray of a Tensor, an array, or numbers."""
    if isinstance(value, Tensor):
        value = value.detach().cpu()
        value = (
            value.float() if not value.dtype.is_complex and _is_narrow(value) else value
        ).numpy()
    return np.asarray(value)


def _is_narrow(tensor: Tensor) -> bool:
    """Whether a dtype is a floating one of a kind that ndarrays do not have."""
    return tensor.dtype.is_floating_point and tensor.dtype.itemsize < 4


def _number(value: Any, what: str) -> float:
    array = as_array(value)
    if array.size != 1:
        raise ValueError(f"{what} takes one number, got an array of shape {array.shape}")
    return float(array.reshape(()).item())


def _summary(tag: str, plugin: str | None = None, content: bytes = b"", **value: Any) -> Summary:
    """One value, with the metadata of the plugin that shows it."""
    if plugin is not None:
        data = SummaryMetadata.PluginData(plugin_name=plugin, content=content)
        value["metadata"] = SummaryMetadata(plugin_data=data)
    return Summary(value=[Summary.Value(tag=tag, **value)])


def _floats(array: Array, double: bool = False) -> TensorProto:
    dims = [TensorShapeProto.Dim(size=size) for size in array.shape]
    kind = {"dtype": "DT_DOUBLE", "double_val": array.ravel().astype(np.float64)}
    if not double:
        kind = {"dtype": "DT_FLOAT", "float_val": array.ravel().astype(np.float32)}
    return TensorProto(tensor_shape=TensorShapeProto(dim=dims), **kind)


def scalar(
    name: str, value: Any, new_style: bool = False, double_precision: bool = False
) -> Summary:
    """A number of a curve."""
    number = _number(value, "add_scalar")
    if not new_style:
        return _summary(name, simple_value=number)
    return _summary(name, "scalars", tensor=_floats(np.array(number), double_precision))


def tensor_proto(tag: str, tensor: Any) -> Summary:
    """A whole tensor."""
    return _summary(tag, "tensor", tensor=_floats(as_array(tensor)))


def _default_edges() -> Array:
    """Edges of classes that grow by a tenth from 1e-12 to 1e20, on both sides of zero."""
    growth = np.full(int(np.log(1e32) / np.log(1.1)), 1.1)
    edges = np.multiply.accumulate(np.append(1e-12, growth))
    return np.concatenate([-edges[::-1], [0.0], edges])


def histogram(name: str, values: Any, bins: Any, max_bins: int | None = None) -> Summary:
    """How often values fall between edges: ``bins`` is "tensorflow", or what NumPy takes."""
    array = as_array(values).astype(np.float64).ravel()
    if array.size == 0:
        raise ValueError("add_histogram: the values have no elements")
    edges = _default_edges() if isinstance(bins, str) and bins == "tensorflow" else bins
    counts, limits = np.histogram(array, bins=edges)
    if max_bins is not None and len(counts) > max_bins:
        together = len(counts) // max_bins
        counts = np.add.reduceat(counts, np.arange(0, len(counts), together))
        limits = np.append(limits[:-1:together], limits[-1])
    filled = np.flatnonzero(counts)
    if filled.size == 0:
        raise ValueError("add_histogram: no value lies between the edges of the bins")
    # The first class that has something is led by an empty one, which says where it begins.
    first, end = filled[0], filled[-1] + 1
    counts = np.concatenate([[0] if first == 0 else counts[first - 1 : first], counts[first:end]])
    return histogram_raw(
        name, array.min(), array.max(), array.size, array.sum(), array.dot(array),
        limits[first : end + 1], counts,
    )  # fmt: skip


def histogram_raw(
    name: str, min: Any, max: Any, num: Any, sum: Any, sum_squares: Any, bucket_limits: Any,
    bucket_counts: Any,
) -> Summary:  # fmt: skip
    """A histogram that has been counted."""
    counted = HistogramProto(
        min=min, max=max, num=num, sum=sum, sum_squares=sum_squares,
        bucket_limit=as_array(bucket_limits).tolist(), bucket=as_array(bucket_counts).tolist(),
    )  # fmt: skip
    return _summary(name, histo=counted)


def _grid(images: Array) -> Array:
    """Images (N, C, H, W) beside each other, at most eight in a line: (C, H', W')."""
    count, channels, height, width = images.shape
    columns = min(count, 8)
    lines = -(-count // columns)
    made = np.zeros((channels, lines * height, columns * width), images.dtype)
    for k, image in enumerate(images):
        y, x = k // columns * height, k % columns * width
        made[:, y : y + height, x : x + width] = image
    return made


def pixels(tensor: Any, dataformats: str) -> Array:
    """Bytes (H, W, C) of an image or of several, whose dimensions ``dataformats`` names."""
    array, names = as_array(tensor), dataformats.upper()
    if len(names) != array.ndim or set(names) - set("NCHW") or len(set(names)) != len(names):
        raise ValueError(
            f"add_image: dataformats is {dataformats!r}, but the image has shape {array.shape}"
        )
    missing = [n for n in "NCHW" if n not in names]
    array = array.reshape((1,) * len(missing) + array.shape)
    array = array.transpose([("".join(missing) + names).index(n) for n in "NCHW"])
    image = _grid(array).transpose(1, 2, 0)
    if image.dtype != np.uint8:
        image = (image.astype(np.float32) * 255).clip(0, 255).astype(np.uint8)
    return np.repeat(image, 3, 2) if image.shape[2] == 1 else image


def _png(image: Array, rescale: float = 1, boxes: Any = (), labels: Any = None) -> Summary.Image:
    from PIL import Image, ImageDraw  # which other entries do without

    height, width, channels = image.shape
    drawn = Image.fromarray(image)
    for k, box in enumerate(boxes):
        pen = ImageDraw.Draw(drawn)
        pen.rectangle(list(box), outline="red")
        if labels is not None:
            pen.text((box[0], box[1]), labels[k], fill="red")
    height, width = int(height * rescale), int(width * rescale)
    if rescale != 1:
        drawn = drawn.resize((width, height))
    data = io.BytesIO()
    drawn.save(data, format="PNG")
    return Summary.Image(
        height=height, width=width, colorspace=channels, encoded_image_string=data.getvalue()
    )


def image(tag: str, tensor: Any, rescale: float = 1, dataformats: str = "NCHW") -> Summary:
    """A picture of an image, or of several in a grid: bytes, or numbers from 0 to 1."""
    return _summary(tag, image=_png(pixels(tensor, dataformats), rescale))


def image_boxes(
    tag: str, tensor_image: Any, tensor_boxes: Any, rescale: float = 1, dataformats: str = "CHW",
    labels: Sequence[str] | None = None,
) -> Summary:  # fmt: skip
    """An image with frames: ``tensor_boxes`` has left, top, right and bottom of each."""
    made = _png(pixels(tensor_image, dataformats), rescale, as_array(tensor_boxes), labels)
    return _summary(tag, image=made)


def audio(tag: str, tensor: Any, sample_rate: int = 44100) -> Summary:
    """A sound of one channel, numbers from -1 to 1, as 16 bits."""
    array = as_array(tensor).astype(np.float64).squeeze()
    if array.ndim != 1:
        raise ValueError(f"add_audio takes one channel, got an array of shape {array.shape}")
    data = io.BytesIO()
    with wave.open(data, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(sample_rate)
        file.writeframes((array.clip(-1, 1) * 32767).astype("<i2").tobytes())
    made = Summary.Audio(
        sample_rate=sample_rate, num_channels=1, length_frames=array.size,
        encoded_audio_string=data.getvalue(), content_type="audio/wav",
    )  # fmt: skip
    return _summary(tag, audio=made)


def text(tag: str, text: str) -> Summary:
    """A text in Markdown."""
    from tensorboard.plugins.text.plugin_data_pb2 import TextPluginData

    content = TextPluginData(version=0).SerializeToString()
    shape = TensorShapeProto(dim=[TensorShapeProto.Dim(size=1)])
    words = TensorProto(dtype="DT_STRING", string_val=[text.encode()], tensor_shape=shape)
    return _summary(f"{tag}/text_summary", "text", content, tensor=words)


#: A number that TensorBoard adds to true and false counts so that no quotient has a zero.
_LEAST = 1e-7


def pr_curve(
    tag: str, labels: Any, predictions: Any, num_thresholds: int = 127, weights: Any = None
) -> Summary:
    """Precision and recall of probabilities of a class, at thresholds from 0 to 1."""
    count = min(num_thresholds, 127)  # more make files too large for TensorBoard
    truth, guess = as_array(labels).ravel().astype(np.float64), as_array(predictions).ravel()
    weight = np.ones(truth.shape) if weights is None else as_array(weights).ravel()
    classes = np.floor(guess * (count - 1)).astype(np.int64).clip(0, count - 1)
    # Sums from the back: what is found at a threshold is all that has a higher probability.
    positive = np.bincount(classes, truth * weight, count)[::-1].cumsum()[::-1]
    negative = np.bincount(classes, (1 - truth) * weight, count)[::-1].cumsum()[::-1]
    precision = positive / np.maximum(_LEAST, positive + negative)
    recall = positive / max(_LEAST, positive[0])
    return pr_curve_raw(
        tag, positive, negative, negative[0] - negative, positive[0] - positive, precision, recall,
        count,
    )  # fmt: skip


def pr_curve_raw(
    tag: str, tp: Any, fp: Any, tn: Any, fn: Any, precision: Any, recall: Any,
    num_thresholds: int = 127, weights: Any = None,
) -> Summary:  # fmt: skip
    """A curve of precision and recall that has been computed."""
    from tensorboard.plugins.pr_curve.plugin_data_pb2 import PrCurvePluginData

    count = min(num_thresholds, 127)
    content = PrCurvePluginData(version=0, num_thresholds=count).SerializeToString()
    rows = np.stack([as_array(row) for row in (tp, fp, tn, fn, precision, recall)])
    return _summary(tag, "pr_curves", content, tensor=_floats(rows))


def custom_scalars(layout: dict[str, dict[str, Sequence[Any]]]) -> Summary:
    """Charts of several curves: ``{category: {chart: ["Multiline" or "Margin", tags]}}``."""
    from tensorboard.plugins.custom_scalar import layout_pb2

    categories = []
    for category, charts in layout.items():
        made = []
        for title, (kind, tags, *_) in charts.items():
            if kind == "Margin":
                series = layout_pb2.MarginChartContent.Series(
                    value=tags[0], lower=tags[1], upper=tags[2]
                )
                content = layout_pb2.MarginChartContent(series=[series])
                made.append(layout_pb2.Chart(title=title, margin=content))
            else:
                lines = layout_pb2.MultilineChartContent(tag=tags)
                made.append(layout_pb2.Chart(title=title, multiline=lines))
        categories.append(layout_pb2.Category(title=category, chart=made))
    words = layout_pb2.Layout(category=categories).SerializeToString()
    data = TensorProto(dtype="DT_STRING", string_val=[words], tensor_shape=TensorShapeProto())
    return _summary("custom_scalars__config__", "custom_scalars", tensor=data)


def mesh(
    tag: str, vertices: Any, colors: Any = None, faces: Any = None, config_dict: Any = None
) -> list[Summary]:
    """Points, or triangles of points, in space: (N, points, 3) with colours and corners alike."""
    from tensorboard.plugins.mesh import metadata
    from tensorboard.plugins.mesh.plugin_data_pb2 import MeshPluginData

    kinds = MeshPluginData.ContentType
    given = [(vertices, kinds.VERTEX), (faces, kinds.FACE), (colors, kinds.COLOR)]
    given = [(as_array(array), kind) for array, kind in given if array is not None]
    parts = metadata.get_components_bitmask([kind for _, kind in given])
    made = []
    for array, kind in given:
        settings = json.dumps(config_dict or {}, sort_keys=True)
        about = metadata.create_summary_metadata(
            tag, "", kind, parts, list(array.shape), "", json_config=settings
        )
        data = about.plugin_data
        name = metadata.get_instance_name(tag, kind)
        made.append(_summary(name, data.plugin_name, data.content, tensor=_floats(array)))
    return made


def hparams(
    hparam_dict: dict[str, Any], metric_dict: dict[str, Any],
    hparam_domain_discrete: dict[str, list[Any]] | None = None,
) -> tuple[Summary, Summary, Summary]:  # fmt: skip
    """The settings of an experiment, those of this session, and that it ended well.

    Raises:
        TypeError: if a setting is neither a number, a bool, a string nor None.
    """
    from google.protobuf import struct_pb2
    from tensorboard.plugins.hparams import api_pb2, metadata, plugin_data_pb2

    infos, session = [], plugin_data_pb2.SessionStartInfo()
    for key, given in hparam_dict.items():
        value = as_array(given).item() if isinstance(given, (Tensor, np.generic)) else given
        if value is None:
            continue
        if not isinstance(value, (bool, int, float, str)):
            raise TypeError(
                f"add_hparams: {key!r} is a {type(value).__name__}; a setting is a number, a bool, "
                "a string, a tensor of one of these, or None"
            )
        words = isinstance(value, str)
        kind, field = ("STRING", "string_value") if words else ("FLOAT64", "number_value")
        setattr(session.hparams[key], field, value)
        info = api_pb2.HParamInfo(name=key, type=f"DATA_TYPE_{kind}")
        for choice in (hparam_domain_discrete or {}).get(key, ()):
            info.domain_discrete.extend([struct_pb2.Value(**{field: choice})])
        infos.append(info)
    metrics = [api_pb2.MetricInfo(name=api_pb2.MetricName(tag=key)) for key in metric_dict]
    experiment = api_pb2.Experiment(hparam_infos=infos, metric_infos=metrics)
    end = plugin_data_pb2.SessionEndInfo(status=api_pb2.Status.STATUS_SUCCESS)

    def entry(tag: str, **data: Any) -> Summary:
        content = plugin_data_pb2.HParamsPluginData(version=metadata.PLUGIN_DATA_VERSION, **data)
        return _summary(tag, metadata.PLUGIN_NAME, content.SerializeToString())

    return (
        entry(metadata.EXPERIMENT_TAG, experiment=experiment),
        entry(metadata.SESSION_START_INFO_TAG, session_start_info=session),
        entry(metadata.SESSION_END_INFO_TAG, session_end_info=end),
    )
