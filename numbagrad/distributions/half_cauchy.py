"""``HalfCauchy``: the size of a Cauchy number."""

from __future__ import annotations

import math
from typing import Any

from ..ops.creation.filled import full
from ..ops.creation.from_data import as_tensor
from .cauchy import Cauchy
from .half_normal import AbsoluteValue
from .transforms import AbsTransform
from .utils import same_as

__all__ = ["HalfCauchy"]


class HalfCauchy(AbsoluteValue):
    """The absolute value of a Cauchy number around 0."""

    def __init__(self, scale: Any, validate_args: bool | None = None) -> None:
        super().__init__(
            Cauchy(0, scale, validate_args=False), AbsTransform(), validate_args=validate_args
        )

    @property
    def mean(self) -> Any:
        return full(
            self._extended_shape(), math.inf, dtype=self.scale.dtype, device=self.scale.device
        )

    variance: Any = same_as("base_dist.variance")

    def _log_density(self, value: Any) -> Any:
        return super()._log_density(
            as_tensor(value, dtype=self.scale.dtype, device=self.scale.device)
        )
