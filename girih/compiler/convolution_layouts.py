"""How images of convolutions lie in programs for the CPU: as was measured to be faster.

::

    convolutions of a function ──► their times in both layouts, measured or remembered
      ──► attribute girih.channels_last, which ``choose-convolution-layouts`` reads

oneDNN is faster with the channels innermost for some shapes and slower for others, and
ATen copies weights into that layout at each call. So a layout that the program did not
ask for is taken only if all convolutions of the function together gain by it. Times are
kept in memory and on disk: shapes are measured once for each processor, number of
threads, and version of torch. Where measuring takes too long, layouts stay as they are.

Kernels of girih compute convolutions of single pixels in both layouts, so their times
do not count; and those of single channels with these innermost, so programs without
gradients that have such convolutions get that layout. The kernels take 0.25 to 0.9 of
oneDNN's time (AMD EPYC with AVX-512, one thread, 2026-11-27). Gradients of convolutions
are oneDNN's.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from typing import NamedTuple

import torch
from torch.utils._python_dispatch import _disable_current_modes

from girih.codegen.cpu.target import host_target
from girih.codegen.disk_cache import DiskCache, cache_key, note_use
from girih.dialects import types as ty
from girih.dialects.bindings import ir
from girih.dialects.graph.signature import require_grad
from girih.passes.choose_convolution_layouts import CHANNELS_LAST, FEWEST, image_calls
from girih.passes.graph_builder import function_bodies
from girih.passes.write_out_convolutions import is_of_channels, is_of_pixels

LEAST_GAIN = 0.1
"""Part of the time that has to be gained: copies around convolutions are not measured,
and times vary."""
MOST_SECONDS = 0.3
"""What one compilation may spend, and three times that where gradients are computed. It
is a tenth of what networks of 20 shapes need for their first call (2026-11-24)."""
WANTED_MULTIPLICATIONS = 1 << 27
"""A call with more is measured with fewer images, at least one for each thread: times
grow with their number. Weights are copied once a call, which then counts too much: that
is to the disadvantage of the new layout."""
MOST_MULTIPLICATIONS = 1 << 30
"""A call with more takes too long to be measured several times."""
MOST_REPETITIONS = 6
STEADY = 1.2
"""The second best time of a run is at most so many times the best one, or else other
programs disturb the measurement, which is worth nothing then."""
MOST_FAILURES = 3
"""So many processes measure a call whose times are not steady. Then it is left as it
is: each first call would take that time again."""

_remembered: dict[str, tuple[float, float]] = {}


class Call(NamedTuple):
    """A convolution of images, as far as its time depends on it.

    Attributes:
        gradients: Of image, weight and bias: which are computed, too.
    """

    image: tuple[int, ...]
    weight: tuple[int, ...]
    has_bias: bool
    stride: tuple[int, ...]
    padding: tuple[int, ...]
    dilation: tuple[int, ...]
    groups: int
    gradients: tuple[bool, bool, bool] = (False, False, False)


Measure = Callable[[Call], tuple[float, float] | None]


def choose_layouts(module: ir.Module, folder: Path | None) -> None:
    """Marks the convolutions of each function that are faster with channels innermost.

    Args:
        module: a module of ``graph``, before derivatives are taken.
        folder: where times are kept; None for nowhere.
    """
    for block in function_bodies(module):
        found = image_calls(block)
        if len(found) < FEWEST:
            continue
        calls = [call_of(op) for op in found]
        trains = any(any(call.gradients) for call in calls)
        times = Times(measure, folder, MOST_SECONDS * (3 if trains else 1))
        if not trains and any(map(is_of_channels, found)):
            is_chosen = True
        elif trains:
            is_chosen = is_faster(calls, times)
        else:
            others = [op for op in found if not is_of_pixels(op)]
            is_chosen = is_faster(list(map(call_of, others)), times)
        for op in found if is_chosen else ():
            op.attributes[CHANNELS_LAST] = ir.UnitAttr.get()


def is_faster(calls: Sequence[Call], times: Times) -> bool:
    """Whether calls together are faster with channels innermost; no if not known."""
    if not all(map(is_measurable, calls)):
        return False
    row_major = channels_last = 0.0
    for call in calls:
        found = times.of(call)
        if found is None:
            return False
        row_major += found[0]
        channels_last += found[1]
    return channels_last < row_major * (1 - LEAST_GAIN)


def is_measurable(call: Call) -> bool:
    """Whether all sizes of a call are known, and no run of it takes long."""
    sizes = (*call.image, *call.weight, *call.padding)
    if not all(isinstance(size, int) for size in sizes):
        return False
    images, work = _fewer_images(call), _multiplications(call)
    return images * work <= MOST_MULTIPLICATIONS


def call_of(op: ir.OpView) -> Call:
    """The call that an op is; its gradients, where arguments require some."""
    operands = [op.x, op.weight, op.bias]
    wanted = _needed_gradients(op, operands)
    return Call(
        ty.shape_of(op.x.type),
        ty.shape_of(op.weight.type),
        op.bias is not None,
        tuple(op.stride),
        tuple(op.padding),
        tuple(op.dilation),
        op.groups,
        wanted,
    )


def _needed_gradients(
    op: ir.OpView, operands: Sequence[ir.Value | None]
) -> tuple[bool, ...]:
    """Which operands' gradients are computed: all but those of plain arguments."""
    required = require_grad(op.operation.parent)

    def is_needed(value: ir.Value | None) -> bool:
        if value is None or not any(required):
            return False
        if not isinstance(value.owner, ir.Block):
            return True
        return required[ir.BlockArgument(value).arg_number]

    return tuple(map(is_needed, operands))


class TimesCache(DiskCache[tuple]):
    """Seconds of a call in both layouts."""

    magic = b"girih convolution times 1\n"

    def encode(self, entry: tuple) -> bytes:
        """As text."""
        return " ".join(map(repr, entry)).encode()

    def decode(self, body: bytes) -> tuple:
        """What was encoded."""
        row_major, channels_last = body.split()
        return float(row_major), float(channels_last)


@dataclass
class Times:
    """Times of calls: remembered, kept on disk, or measured while there is time.

    Attributes:
        measure: gives seconds with images row by row, and with channels innermost;
            None where it can't.
        folder: where they are kept; None for nowhere.
        seconds: what measuring may take in all.
        clock: gives the time in seconds.
    """

    measure: Measure
    folder: Path | None = None
    seconds: float = MOST_SECONDS
    clock: Callable[[], float] = time.perf_counter
    _environment: tuple[str, ...] = field(default_factory=lambda: environment())

    def of(self, call: Call) -> tuple[float, float] | None:
        """Seconds in both layouts; None where they can't be had in the time."""
        key = cache_key(repr(tuple(call)), *self._environment)
        found = _remembered.get(key)
        if found is None:
            found = self._found(key, call)
            if found is not None:
                _remembered[key] = found
        elif self.folder is not None:
            note_use(self.folder, key)
        return found if found is not None and found[0] >= 0 else None

    def _found(self, key: str, call: Call) -> tuple[float, float] | None:
        """Kept times or new ones; as numbers below zero how often there were none."""
        kept = None if self.folder is None else TimesCache(self.folder).load(key)
        failed = 0 if kept is None else max(0, -int(kept[0]))
        if kept is not None and (failed == 0 or failed >= MOST_FAILURES):
            return kept
        if self.seconds <= 0:
            return None
        found = self._measured(call) or (-1.0 - failed, -1.0 - failed)
        if self.folder is not None:
            TimesCache(self.folder).store(key, found)
        return found

    def _measured(self, call: Call) -> tuple[float, float] | None:
        started = self.clock()
        try:
            return self.measure(call)
        except (MemoryError, RuntimeError):
            return None  # what is wrong with the call its user shall hear from ATen
        finally:
            self.seconds -= self.clock() - started


def forget() -> None:
    """Forgets what is remembered in this process."""
    _remembered.clear()


def environment() -> tuple[str, ...]:
    """What times depend on beside the call."""
    return (
        host_target().fingerprint,
        torch.__version__,
        str(torch.get_num_threads()),
        str(torch._C._get_mkldnn_enabled()),
        str(torch.backends.mkldnn.conv.fp32_precision),
        str(torch.are_deterministic_algorithms_enabled()),
    )


def measure(call: Call) -> tuple[float, float] | None:
    """Seconds with images row by row, and with channels innermost.

    It computes with ones: how long that takes does not depend on them, and the user's
    random numbers stay what they are.

    Returns:
        None where times are not steady.
    """
    images, fewer = call.image[0], _fewer_images(call)
    call = call._replace(image=(fewer, *call.image[1:]))
    layouts = (torch.contiguous_format, torch.channels_last)
    with _undisturbed():
        runs = [_run_of(call, layout) for layout in layouts]
        found = steady_times(runs)
    return found and tuple(seconds * images / max(fewer, 1) for seconds in found)


def steady_times(
    runs: Sequence[Callable[[], object]], clock: Callable[[], float] = time.perf_counter
) -> tuple[float, ...] | None:
    """The least seconds of each run; None where they stay unsteady."""
    for run in runs:
        run()
    seconds: list[list[float]] = [[] for _ in runs]
    for number in range(MOST_REPETITIONS):
        for run, own in zip(runs, seconds, strict=True):
            started = clock()
            run()
            own.append(clock() - started)
            own.sort()
        if number and all(own[1] <= own[0] * STEADY for own in seconds):
            return tuple(own[0] for own in seconds)
    return None


@contextlib.contextmanager
def _undisturbed():
    """Neither sees the user's modes nor shows them anything."""
    with (
        _disable_current_modes(),
        torch._C.DisableTorchFunction(),
        torch.autocast("cpu", enabled=False),
        torch.no_grad(),
    ):
        yield


def _fewer_images(call: Call) -> int:
    """How many images a call is measured with."""
    fewest = torch.get_num_threads()
    wanted = WANTED_MULTIPLICATIONS // max(_multiplications(call), 1)
    return min(call.image[0], max(wanted, fewest))


def _multiplications(call: Call) -> int:
    """Those that the result of one image takes, about."""
    _, _, height, width = call.image
    down, right = call.stride
    return prod(call.weight) * -(-height // down) * -(-width // right)


def _run_of(call: Call, layout: torch.memory_format) -> Callable[[], object]:
    """A call, and its derivative, with images in a layout."""

    def ones(shape: Sequence[int]) -> torch.Tensor:
        return torch.ones(shape, dtype=torch.float32, device="cpu")

    x = ones(call.image).contiguous(memory_format=layout)
    weight = ones(call.weight)
    bias = ones(call.weight[:1]) if call.has_bias else None
    steps = (call.stride, call.padding, call.dilation, False, (0, 0), call.groups)
    if not any(call.gradients):
        return lambda: torch.ops.aten.convolution(x, weight, bias, *steps)

    def run() -> object:
        y = torch.ops.aten.convolution(x, weight, bias, *steps)
        sizes = call.weight[:1] if call.has_bias else None
        return torch.ops.aten.convolution_backward(
            y, x, weight, sizes, *steps, call.gradients
        )

    return run
