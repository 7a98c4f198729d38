"""``girih.profile``: times of kernels and library calls in calls of a function."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from statistics import median
from typing import Any

import torch
from torch.utils._pytree import tree_leaves

from girih import api, marks, tally
from girih.profiling import records
from girih.profiling.bandwidth import copy_bandwidth
from girih.profiling.found import EAGER, Profile, Timed, rows_of
from girih.profiling.spans import HostClock, seconds_of
from girih.profiling.steps import Step
from girih.torch_compiled import torch_compiled

_ROUNDS = 3
"""Of calls in a row on a GPU."""
_CALLS_WITH_PROFILER = 10
"""At most, on the CPU: they are there for eager operations alone."""
_COMPILED_MEANWHILE = (
    "girih compiled during the calls that were timed; a larger `warmup` may avoid that."
)
_EAGER_ROWS = (
    "The graph `eager` stands for operations outside of compiled programs: what "
    "autograd needs, and what was left to eager mode; girih.explain(f)(*args) says why."
)


def profile(
    fn: Any,
    *,
    calls: int = 20,
    warmup: int = 5,
    backward: bool = False,
    dynamic: bool | None = None,
    options: Mapping[str, Any] | None = None,
) -> Callable[..., Profile]:
    """Calls a compiled function often, and times its kernels and library calls.

    ``print(girih.profile(f)(x, y))`` is the usual use. The calls are real ones, with
    their side effects: ``warmup`` calls, then at least twice ``calls``, because a call
    that is watched takes longer, so that the time of a whole call is taken without
    anybody watching. What a function has been compiled to is what is timed, where
    neither ``dynamic`` nor ``options`` is given; any other function is compiled.

    Args:
        fn: A function, method, module or other callable, compiled or not. What
            ``torch.compile`` compiled with another backend is compiled by girih for
            these calls.
        calls: How many calls are timed.
        warmup: Calls before these: the first compiles, some later ones may, too.
        backward: True: a call includes the backward pass of all results that require a
            gradient, along cotangents of ones. Leaf tensors begin each call without a
            gradient, and at the end have those that they had. A function that calls
            ``backward()`` itself needs no ``backward=True``.
        dynamic: As for ``girih.compile``.
        options: As for ``girih.compile``.

    Returns:
        A function that takes the arguments of the calls and returns a ``Profile``.

    Raises:
        TypeError: ``fn`` is not callable.
        ValueError: ``calls`` or ``warmup`` is no number from 1 on; or, at the call, no
            result requires a gradient with ``backward=True``.
    """
    for name, number in (("calls", calls), ("warmup", warmup)):
        if type(number) is not int or number < 1:
            raise ValueError(f"{name} must be a number >= 1, got {number!r}")
    compiled = _compiled(fn, dynamic, options)

    def profiled(*args: Any, **kwargs: Any) -> Profile:
        step = Step(lambda: compiled(*args, **kwargs), backward=backward)
        try:
            step.first()
            for _ in range(warmup - 1):
                step.prepare()
                step()
            device = _device_of(args, kwargs, step.result)
            before = tally.counters()
            timed, seconds = _MEASURES[device.type](step, calls)
            notes = [] if tally.counters() == before else [_COMPILED_MEANWHILE]
        finally:
            step.restore()
        notes += [_EAGER_ROWS] if any(one.graph == EAGER for one in timed) else []
        bandwidth = copy_bandwidth(device)
        rows = rows_of(timed, seconds, bandwidth)
        return Profile(
            marks.name_of(marks.innermost(fn)),
            seconds,
            calls,
            rows,
            bandwidth,
            device.type,
            step.result,
            notes,
        )

    return profiled


def _compiled(
    fn: Any, dynamic: bool | None, options: Mapping[str, Any] | None
) -> Callable:
    """What is called: the function itself, where girih compiled it already."""
    from girih.frontend.capture.targets import dispatcher_of

    target = marks.innermost(fn)
    if not callable(target):
        raise TypeError(f"girih.profile expects a callable, got {type(fn).__name__}")
    by_torch, mode = torch_compiled(fn), None
    is_girihs = by_torch is not None and by_torch.is_girihs
    if dynamic is None and options is None and (is_girihs or dispatcher_of(fn)):
        return fn
    if is_girihs and options is None:
        mode, options = by_torch.mode, by_torch.options
    if by_torch is not None and dynamic is None:
        dynamic = by_torch.dynamic
    return api.compile(
        target, dynamic=dynamic, backend="girih", mode=mode, options=options
    )


def _on_host(step: Step, calls: int) -> tuple[list[Timed], float]:
    """Calls that nobody watches take turns with calls that are watched."""
    clock, seconds = HostClock(), []
    for _ in range(calls):
        step.prepare()
        seconds.append(seconds_of(step))
        step.prepare()
        clock.watch(step)

    def prepared() -> None:
        step.prepare()
        step()

    eager = records.eager_times(prepared, min(calls, _CALLS_WITH_PROFILER))
    return [*clock.rows(), *eager], median(seconds)


def _on_device(step: Step, calls: int) -> tuple[list[Timed], float]:
    """The host may run ahead of the device, as it does in programs."""

    def prepared() -> None:
        step.prepare()
        step()

    def in_a_row() -> None:
        for _ in range(calls):
            prepared()
        torch.cuda.synchronize()

    seconds = []
    for _ in range(_ROUNDS):
        torch.cuda.synchronize()
        seconds.append(seconds_of(in_a_row) / calls)
    return records.device_times(prepared, calls), median(seconds)


_MEASURES = {"cpu": _on_host, "cuda": _on_device}
"""By type of device, what finds rows and the seconds of a call."""


def _device_of(*given: Any) -> torch.device:
    """The GPU of the first tensor that is on one, or the CPU."""
    for leaf in tree_leaves(given):
        if isinstance(leaf, torch.Tensor) and leaf.device.type == "cuda":
            return leaf.device
    return torch.device("cpu")
