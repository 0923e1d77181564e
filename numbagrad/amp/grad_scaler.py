"""``GradScaler``: losses multiplied by a large number, so that gradients of float16 do not vanish.

Before a step the gradients are divided by it again; where one of them is not finite the step is
left out and the number becomes smaller.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable
from enum import Enum
from typing import Any

from ..autograd.grad_mode import no_grad
from ..cuda.devices import is_available
from ..dtype import float16, float32
from ..ops.creation.filled import full
from ..tensor import Tensor

__all__ = ["GradScaler", "OptState"]


class OptState(Enum):
    """How far an optimizer has come in an iteration."""

    READY = 0
    UNSCALED = 1
    STEPPED = 2


class GradScaler:
    """Scales losses, and steps optimizers whose gradients are finite.

    Args:
        device: "cpu" or "cuda". Without a GPU "cuda" warns, and nothing is scaled.
        init_scale: the number at first.
        growth_factor: what it is multiplied by after ``growth_interval`` steps in a row.
        backoff_factor: what it is multiplied by after a step that was left out.
        growth_interval: how many steps that takes.
        enabled: False makes every method do what a program without a scaler does.
    """

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        self._device = device
        self._enabled = enabled
        if enabled and device == "cuda" and not is_available():
            warnings.warn(
                "torch.cuda.amp.GradScaler is enabled, but CUDA is not available.  Disabling.",
                stacklevel=2,
            )
            self._enabled = False
        if not self._enabled:
            return
        if growth_factor <= 1.0:
            raise AssertionError("The growth factor must be > 1.0.")
        if backoff_factor >= 1.0:
            raise AssertionError("The backoff factor must be < 1.0.")
        self._init_scale = init_scale
        self._scale: Tensor | None = None
        self._growth_factor = growth_factor
        self._backoff_factor = backoff_factor
        self._growth_interval = growth_interval
        self._growth_tracker = 0
        #: By optimizer: how far it is, and whether a gradient was not finite.
        self._optimizers: dict[int, dict[str, Any]] = {}

    def _of(self, optimizer: Any) -> dict[str, Any]:
        fresh = {"stage": OptState.READY, "found_inf": None}
        return self._optimizers.setdefault(id(optimizer), fresh)

    def _current(self, function: str) -> Tensor:
        if self._scale is None:
            raise AssertionError(
                f"Attempted {function} but _scale is None.  This may indicate your script did not "
                "use scaler.scale(loss or outputs) earlier in the iteration."
            )
        return self._scale

    def scale(self, outputs: Any) -> Any:
        """Tensors, or containers of them, times the scale."""
        if not self._enabled:
            return outputs
        if self._scale is None:
            self._scale = full((), self._init_scale, dtype=float32)
        if isinstance(outputs, Tensor):
            return outputs * self._scale
        if isinstance(outputs, Iterable):
            made = [self.scale(each) for each in outputs]
            return type(outputs)(made) if isinstance(outputs, (list, tuple)) else made
        raise ValueError("outputs must be a Tensor or an iterable of Tensors")

    def unscale_(self, optimizer: Any) -> None:
        """Divide the gradients of an optimizer by the scale, for what looks at them before a step.

        Raises:
            RuntimeError: if that was done already since ``update``.
            ValueError: for gradients of float16.
        """
        if not self._enabled:
            return
        scale = self._current("unscale_")
        state = self._of(optimizer)
        if state["stage"] is OptState.UNSCALED:
            raise RuntimeError(
                "unscale_() has already been called on this optimizer since the last update()."
            )
        if state["stage"] is OptState.STEPPED:
            raise RuntimeError("unscale_() is being called after step().")
        state["found_inf"] = self._divided(optimizer, 1.0 / scale.item())
        state["stage"] = OptState.UNSCALED

    @staticmethod
    def _divided(optimizer: Any, factor: float) -> bool | None:
        """Multiply the gradients; whether one was not finite, None if there are none."""
        found: bool | None = None
        with no_grad():
            for group in optimizer.param_groups:
                for parameter in group["params"]:
                    gradient = parameter.grad
                    if gradient is None:
                        continue
                    if gradient.dtype is float16:
                        raise ValueError("Attempting to unscale FP16 gradients.")
                    values = gradient._values() if gradient.is_sparse else gradient
                    finite = bool(values.isfinite().all())
                    found = bool(found) or not finite
                    gradient.mul_(factor)
        return found

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """``optimizer.step(*args, **kwargs)``, unless a gradient is not finite.

        Gradients are unscaled first if that was not done. A closure is not supported.

        Raises:
            RuntimeError: if it was called already since ``update``, or with a closure.
            AssertionError: if the optimizer has no gradients.
        """
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        self._current("step")
        state = self._of(optimizer)
        if state["stage"] is OptState.STEPPED:
            raise RuntimeError("step() has already been called since the last update().")
        if state["stage"] is OptState.READY:
            self.unscale_(optimizer)
        if state["found_inf"] is None:
            raise AssertionError("No inf checks were recorded for this optimizer.")
        result = None if state["found_inf"] else optimizer.step(*args, **kwargs)
        state["stage"] = OptState.STEPPED
        return result

    def update(self, new_scale: float | Tensor | None = None) -> None:
        """Choose the scale of the next iteration, or take a given one."""
        if not self._enabled:
            return
        scale = self._current("update")
        if new_scale is not None:
            scale.fill_(float(new_scale))
        else:
            found = [x["found_inf"] for x in self._optimizers.values()]
            found = [x for x in found if x is not None]
            if not found:
                raise AssertionError("No inf checks were recorded prior to update.")
            self._adapt(scale, any(found))
        self._optimizers = {}

    def _adapt(self, scale: Tensor, left_out: bool) -> None:
        if left_out:
            scale.fill_(scale.item() * self._backoff_factor)
            self._growth_tracker = 0
            return
        self._growth_tracker += 1
        if self._growth_tracker == self._growth_interval:
            grown = (scale * self._growth_factor).item()
            if math.isfinite(grown):
                scale.fill_(grown)
            self._growth_tracker = 0

    def get_scale(self) -> float:
        """The scale; 1.0 where nothing is scaled."""
        if not self._enabled:
            return 1.0
        return self._init_scale if self._scale is None else float(self._scale.item())

    def is_enabled(self) -> bool:
        """Whether anything is scaled."""
        return self._enabled

    def get_growth_factor(self) -> float:
        """The factor by which the scale grows."""
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        """Choose that."""
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        """The factor by which the scale shrinks."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        """Choose that."""
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        """After how many steps in a row the scale grows."""
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        """Choose that."""
        self._growth_interval = new_interval

    def _get_growth_tracker(self) -> int:
        return self._growth_tracker if self._enabled else 0

    def state_dict(self) -> dict[str, Any]:
        """The state that ``load_state_dict`` takes; empty where nothing is scaled."""
        if not self._enabled:
            return {}
        return {
            "scale": self.get_scale(),
            "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval,
            "_growth_tracker": self._growth_tracker,
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on from a saved state.

        Raises:
            RuntimeError: for an empty one, from a scaler that was not enabled.
        """
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError(
                "The source state dict is empty, possibly because it was saved from a disabled "
                "instance of GradScaler."
            )
        self._init_scale = state_dict["scale"]
        if self._scale is not None:
            self._scale.fill_(state_dict["scale"])
        self._growth_factor = state_dict["growth_factor"]
        self._backoff_factor = state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]
        self._growth_tracker = state_dict["_growth_tracker"]


class ScalerOfDevice(GradScaler):
    """A scaler of one kind of device, which its class names: the arguments are the others."""

    _device: str

    def __init__(
        self,
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        super().__init__(
            self._device, init_scale, growth_factor, backoff_factor, growth_interval, enabled
        )
