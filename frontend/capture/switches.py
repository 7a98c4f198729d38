"""torch's global settings that a program may read and change.

A *switch* is a setting with functions that read and write it. A read is a guard, unless
``GlobalStateGuard`` covers the setting; a write happens while tracing and is a node.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import torch
from torch._C import _autograd as autograd
from torch._C import _functorch as functorch
from torch.autograd import forward_ad


class Switch(NamedTuple):
    """A setting.

    Attributes:
        name: How it is called in messages.
        read: Gives the arguments that ``write`` would be called with.
        write: Sets it.
        is_covered: Whether ``GlobalStateGuard`` checks it.
    """

    name: str
    read: Callable[[], tuple]
    write: Callable[..., None]
    is_covered: bool = False


def _only(read: Callable[[], Any]) -> Callable[[], tuple]:
    def values() -> tuple:
        return (read(),)

    values.__qualname__ = f"{read.__module__}.{read.__name__}"
    return values


def _deterministic() -> tuple[bool, bool]:
    return (
        torch.are_deterministic_algorithms_enabled(),
        torch.is_deterministic_algorithms_warn_only_enabled(),
    )


def set_deterministic(enabled: bool, warn_only: bool) -> None:
    """``torch.use_deterministic_algorithms`` without loading Inductor for it."""
    torch._C._set_deterministic_algorithms(enabled, warn_only=warn_only)


def _anomaly() -> tuple[bool, bool]:
    return torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()


DEFAULT_DTYPE = Switch(
    "default dtype", _only(torch.get_default_dtype), torch._C._set_default_dtype, True
)
DETERMINISTIC = Switch(
    "deterministic algorithms", _deterministic, set_deterministic, True
)
ANOMALY = Switch("anomaly mode", _anomaly, torch.set_anomaly_enabled)

# Name, the function that reads it, the one that sets it, covered.
_PAIRS = (
    ("number of threads", "get_num_threads", "set_num_threads", True),
    (
        "precision of float32 products",
        "_get_float32_matmul_precision",
        "_set_float32_matmul_precision",
        True,
    ),
    ("flash attention", "_get_flash_sdp_enabled", "_set_sdp_use_flash", False),
    (
        "memory-efficient attention",
        "_get_mem_efficient_sdp_enabled",
        "_set_sdp_use_mem_efficient",
        False,
    ),
    ("plain attention", "_get_math_sdp_enabled", "_set_sdp_use_math", False),
    ("cuDNN attention", "_get_cudnn_sdp_enabled", "_set_sdp_use_cudnn", False),
    (
        "attention of another backend",
        "_get_overrideable_sdp_enabled",
        "_set_sdp_use_overrideable",
        False,
    ),
    ("flash attention 3", "_get_fa3_sdp_enabled", "_set_sdp_use_fa3", False),
    (
        "order of attention kernels",
        "_get_sdp_priority_order",
        "_set_sdp_priority_order",
        False,
    ),
    ("MKL-DNN", "_get_mkldnn_enabled", "_set_mkldnn_enabled", False),
    (
        "deterministic MKL-DNN",
        "_get_mkldnn_deterministic",
        "_set_mkldnn_deterministic",
        False,
    ),
    ("NNPACK", "_get_nnpack_enabled", "_set_nnpack_enabled", False),
    ("cuDNN", "_get_cudnn_enabled", "_set_cudnn_enabled", False),
    ("cuDNN benchmark", "_get_cudnn_benchmark", "_set_cudnn_benchmark", False),
    (
        "deterministic cuDNN",
        "_get_cudnn_deterministic",
        "_set_cudnn_deterministic",
        False,
    ),
)


def _paired() -> dict[str, Switch]:
    """Switches by the name of their getter; those that this torch has."""
    found = {}
    for name, getter, setter, is_covered in _PAIRS:
        read, write = getattr(torch._C, getter, None), getattr(torch._C, setter, None)
        if read is not None and write is not None:
            found[getter] = Switch(name, _only(read), write, is_covered)
    return found


PAIRED = _paired()

READS: dict[Callable, Switch] = {
    torch.get_default_dtype: DEFAULT_DTYPE,
    torch.are_deterministic_algorithms_enabled: DETERMINISTIC,
    torch.is_deterministic_algorithms_warn_only_enabled: DETERMINISTIC,
    torch._C._get_deterministic_algorithms: DETERMINISTIC,
    torch._C._get_deterministic_algorithms_warn_only: DETERMINISTIC,
    torch.is_anomaly_enabled: ANOMALY,
    torch.is_anomaly_check_nan_enabled: ANOMALY,
    **{getattr(torch._C, getter): switch for getter, switch in PAIRED.items()},
}
"""Functions that read a switch."""

WRITES: dict[Callable, Switch] = {
    torch._C._set_default_dtype: DEFAULT_DTYPE,
    torch.set_anomaly_enabled: ANOMALY,
    **{switch.write: switch for switch in PAIRED.values()},
}
"""Functions that set a switch, with the arguments that its ``write`` takes."""

SWITCHES = tuple(
    dict.fromkeys([DEFAULT_DTYPE, DETERMINISTIC, ANOMALY, *WRITES.values()])
)


class Reading:
    """A guard: a function gives the value that it gave while tracing.

    Args:
        value: The value.
        args: What the function is called with.
    """

    def __init__(self, value: Any, args: tuple = ()):
        self.value = value
        self.args = args
        self.__qualname__ = f"gives_{value!r}"

    def __call__(self, function: Callable) -> bool:
        """Whether ``function(*args)`` still gives the value."""
        return function(*self.args) == self.value


class AutocastState:
    """What is on of autocast at a call, to go back to."""

    def __init__(self, devices: tuple[str, ...] = ("cpu",)):
        self._nesting = _nesting()
        self._cache = torch.is_autocast_cache_enabled()
        self._devices = [
            (name, torch.is_autocast_enabled(name), torch.get_autocast_dtype(name))
            for name in devices
        ]

    def restore(self) -> None:
        """Leaves the regions that were entered since."""
        for name, enabled, dtype in self._devices:
            torch.set_autocast_enabled(name, enabled)
            torch.set_autocast_dtype(name, dtype)
        torch.set_autocast_cache_enabled(self._cache)
        while (nesting := _nesting()) > self._nesting:
            torch.autocast_decrement_nesting()
        if not nesting:
            torch.clear_autocast_cache()


def _nesting() -> int:
    torch.autocast_increment_nesting()
    return torch.autocast_decrement_nesting()


class LevelState:
    """The levels of ``torch.func`` and of forward mode at a call, to go back to."""

    def __init__(self):
        self._depth = functorch.get_dynamic_layer_stack_depth()
        self._is_dual = forward_ad._current_level >= 0
        self._forward = torch._C._is_fwd_grad_enabled()
        self._in_place = functorch.get_inplace_requires_grad_allowed()
        self._why_no_hooks = autograd._saved_tensors_hooks_get_disabled_error_message()

    def restore(self) -> None:
        """Leaves the levels that were entered since."""
        if not self._is_dual:
            _leave_dual_level()
        functorch.pop_dynamic_layer_stack_and_undo_to_depth(self._depth)
        functorch.set_inplace_requires_grad_allowed(self._in_place)
        torch._C._set_fwd_grad_enabled(self._forward)
        if self._why_no_hooks is None:
            autograd._saved_tensors_hooks_enable()
        else:
            autograd._saved_tensors_hooks_disable(self._why_no_hooks)


def _leave_dual_level() -> None:
    """Leaves the level of dual numbers, of which there is at most one.

    What TorchDynamo writes enters it without telling Python.
    """
    if forward_ad._current_level >= 0:
        forward_ad.exit_dual_level()
        return
    with contextlib.suppress(RuntimeError):  # there is none
        torch._C._exit_dual_level(level=0)


@contextlib.contextmanager
def preserved() -> Iterator[None]:
    """Goes back to the state of torch that was on, where the block raises."""
    grad, autocast, levels = torch.is_grad_enabled(), AutocastState(), LevelState()
    values = [(switch, switch.read()) for switch in SWITCHES]
    try:
        yield
    except BaseException:
        levels.restore()
        autocast.restore()
        for switch, start in values:
            if switch.read() != start:
                switch.write(*start)
        torch._C._set_grad_enabled(grad)
        raise
