"""Measures one model: each part is a question, and its answer a record."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any

import torch

import girih
from breadth.comparison import Mismatch, distance
from breadth.model import Model
from breadth.notices import fallbacks, notices
from breadth.precision import RoundingOperations
from breadth.reference import right_derivatives
from breadth.speed import result_times, step_times
from breadth.step import NothingToTrain, Step, call, fresh, train
from girih.checking.arithmetic import Noise

FORWARD_BOUND = 1e-4
"""Of float32, relative to the largest element of a result."""
TRAINING_BOUND = 1e-9
"""Of float64."""
ROUNDED_BOUND = 1e-4
"""Of float64, where the model itself computes in float32 on the way, or ``TIMES_EAGER``
of what eager's step moves by when every float moves by a unit in its last place."""
FLOAT32_BOUND = 1e-2
"""Of a step in float32 from eager's, where none in float64 says how near that is, and
the most that such moves explain."""
TIMES_EAGER = 4
"""What is rounded may be that many times as far away as eager's own rounding."""
DRAWS = 5
"""Of weights: a step in float32 is wrong if it is so for each of them."""
DRAWN = 1e-2
"""How far weights of other draws are from the given ones, relative to each."""

Record = dict[str, Any]


@dataclass(frozen=True)
class Settings:
    """How models are measured.

    Attributes:
        device: ``"cpu"`` or ``"cuda"``.
        dynamo: Whether TorchDynamo is asked for the whole graph, too.
    """

    device: str = "cpu"
    dynamo: bool = False

    @property
    def options(self) -> dict[str, Any]:
        """For ``girih.compile``: eager's random numbers, so that they compare."""
        return {} if self.device == "cpu" else {"fallback_random": True}


class EagerFailed(Exception):
    """The model does not run without a compiler: nothing can be said of it."""


def measure(model: Model, part: str, settings: Settings) -> Record:
    """One part's record: ``verdict``, and what it was seen from.

    Verdicts: ``right``, ``wrong`` (values), ``failed`` (an exception), ``skipped``
    (eager can't do it).
    """
    girih.reset()
    start = time.monotonic()
    with notices() as heard:
        record = _verdict(PARTS[part], model, settings)
    record["seconds"] = round(time.monotonic() - start, 2)
    record["said"] = heard
    return record


def _verdict(part: Callable, model: Model, settings: Settings) -> Record:
    try:
        record = part(model, settings)
        if record["verdict"] == "wrong" and not _is_reproducible(model, settings):
            raise EagerFailed("eager gives other numbers each time")
        return record
    except (EagerFailed, NothingToTrain) as reason:
        return {"verdict": "skipped", "why": _first_line(reason)}
    except Mismatch as difference:
        return {"verdict": "wrong", "why": str(difference)}
    except Exception as error:
        why = f"{type(error).__name__}: {_first_line(error)}"
        return {"verdict": "failed", "why": why}


def _is_reproducible(model: Model, settings: Settings) -> bool:
    """Whether eager's step is the same twice: some models seed by the clock."""
    try:
        first, second = (
            _eager_step(model, settings, torch.float64)[0] for _ in range(2)
        )
    except (EagerFailed, NothingToTrain):
        return True
    return max(second.distance(first).values()) == 0


def _first_line(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0][:300]


def _eager(run: Callable[[], Any]) -> Any:
    try:
        return run()
    except NothingToTrain:
        raise
    except Exception as error:
        raise EagerFailed(f"{type(error).__name__}: {_first_line(error)}") from error


def _forward(model: Model, settings: Settings) -> Record:
    """The results in evaluation, in one graph if that is possible."""
    size = model.sizes[0]
    with torch.no_grad():
        module = fresh(model, settings.device).eval()
        expected = _eager(lambda: call(module, model, size, settings.device))
        noise = _own_spread(module, model, expected, settings)
        record, found, compiled = _in_one_graph(model, settings)
        record["error"], record["noise"] = distance(found, expected), noise
    functions = {"eager": module, "girih": compiled}
    return _judged(record, max(FORWARD_BOUND, noise)) | {
        "times": result_times(functions, model, settings.device)
    }


def _own_spread(module, model: Model, expected, settings: Settings) -> float:
    """How far eager is from itself when sums are made in another order.

    On the CPU with two threads instead of one; on a GPU, where nothing chooses the
    order, with noise in the last place of every float; 0 where that changes more than
    numbers, or an operation does not run under a mode.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        with nullcontext() if settings.device == "cpu" else Noise():
            again = call(module, model, model.sizes[0], settings.device)
        return distance(again, expected)
    except Exception:
        return 0.0
    finally:
        torch.set_num_threads(threads)


def _in_one_graph(model: Model, settings: Settings) -> tuple[Record, Any, Callable]:
    record: Record = {"fullgraph": True}
    if settings.dynamo:
        record["dynamo"] = _whole_for_dynamo(model, settings)
    try:
        return _compiled_call(model, settings, record, fullgraph=True)
    except Exception as error:
        record |= {"fullgraph": False, "break": _reason_of_break(error)}
        girih.reset()
        return _compiled_call(model, settings, record)


def _compiled_call(model: Model, settings: Settings, record: Record, **how):
    module = fresh(model, settings.device).eval()
    compiled = girih.compile(module, options=settings.options, **how)
    start = time.monotonic()
    found = call(compiled, model, model.sizes[0], settings.device)
    record["first_call"] = round(time.monotonic() - start, 2)
    record["graphs"] = len(girih.report(compiled).graphs)
    record["eager"] = fallbacks(compiled)
    return record, found, compiled


def _reason_of_break(error: BaseException) -> str:
    text = " | ".join(line.strip() for line in str(error).splitlines() if line.strip())
    return f"{type(error).__name__}: {text}"[:400]


def _whole_for_dynamo(model: Model, settings: Settings) -> bool:
    module = fresh(model, settings.device).eval()
    try:
        compiled = torch.compile(module, backend="eager", fullgraph=True)
        call(compiled, model, model.sizes[0], settings.device)
    except Exception:
        return False
    finally:
        torch._dynamo.reset()
    return True


def _judged(record: Record, bound: float) -> Record:
    errors = record["error"]
    worst = max(errors.values()) if isinstance(errors, dict) else errors
    return {"verdict": "right" if worst <= bound else "wrong", "bound": bound, **record}


def _training(model: Model, settings: Settings) -> Record:
    """A step in float64: loss, every gradient and every buffer are eager's."""
    expected, bound = _eager_step(model, settings, torch.float64)
    start = time.monotonic()
    compiled, module = _compiled_for_training(model, settings, torch.float64)
    step = _step(compiled, module, model, model.sizes[0], settings, torch.float64)
    record = {"first_call": round(time.monotonic() - start, 2)}
    record |= {"error": step.distance(expected), "eager": fallbacks(compiled)}
    return _judged(record, bound)


def _training_float32(model: Model, settings: Settings) -> Record:
    """A step in float32 is about as near to float64 as eager's step.

    What is chosen by comparing (the side of a ReLU, the largest of a window) may be
    another where two numbers are nearly the same, and gradients jump there: eager's as
    well as the compiled model's. Other weights have other ties, so a precision that is
    really lost is seen for all of them.
    """
    for draw in range(DRAWS):
        record = _float32_step(_drawn(model, draw), settings)
        if record["verdict"] == "right":
            break
        girih.reset()
    return record | {"draws": draw + 1}


def _drawn(model: Model, draw: int) -> Model:
    """The model, for all draws but the first with weights near the given ones."""
    if not draw:
        return model
    module = copy.deepcopy(model.module)
    generator = torch.Generator().manual_seed(draw)
    with torch.no_grad():
        for x in module.parameters():
            if x.is_floating_point():
                noise = torch.randn(x.shape, generator=generator, dtype=x.dtype)
                x.mul_(1 + DRAWN * noise)
    return replace(model, module=module)


def _float32_step(model: Model, settings: Settings) -> Record:
    expected, _ = _eager_step(model, settings, None)
    compiled, module = _compiled_for_training(model, settings, None)
    step = _step(compiled, module, model, model.sizes[0], settings, None)
    record = {"error": step.distance(expected), "eager": fallbacks(compiled)}
    record = _judged_float32(record, step, expected, model, settings)
    # Timed steps add to the gradients, which are compared before.
    functions = {"eager": fresh(model, settings.device).train(), "girih": compiled}
    return record | {"times": step_times(functions, model, settings.device)}


def _judged_float32(
    record: Record, step: Step, expected: Step, model: Model, settings: Settings
) -> Record:
    """The record with its verdict: how near the step is, and eager's, to float64."""
    try:
        precise, _ = _eager_step(model, settings, torch.float64)
    except EagerFailed as reason:
        # Some operations (products of groups) don't exist in float64.
        return _judged(record | {"no_float64": str(reason)}, FLOAT32_BOUND)
    allowed = _distance_to(expected, precise)
    record |= {"mine": _distance_to(step, precise), "eagers": allowed}
    right = record["mine"] <= max(FORWARD_BOUND, TIMES_EAGER * allowed)
    return {"verdict": "right" if right else "wrong", **record}


def _distance_to(step: Step, precise: Step) -> float:
    """Of the gradients of a step from those in float64."""
    widened = Step(gradients={n: g.double() for n, g in step.gradients.items()})
    return widened.distance(Step(gradients=precise.gradients))["gradients"]


def _dynamic(model: Model, settings: Settings) -> Record:
    """Symbolic sizes: the results for several of them."""
    with torch.no_grad():
        module = fresh(model, settings.device).eval()
        compiled = girih.compile(
            fresh(model, settings.device).eval(), dynamic=True, options=settings.options
        )
        errors = {}
        for size in model.sizes:
            expected = _eager(lambda s=size: call(module, model, s, settings.device))
            found = call(compiled, model, size, settings.device)
            errors[str(size)] = distance(found, expected)
    record = {"error": errors, "graphs": len(girih.report(compiled).graphs)}
    record["eager"] = fallbacks(compiled)
    return _judged(record, FORWARD_BOUND)


def _dynamic_training(model: Model, settings: Settings) -> Record:
    """Symbolic sizes: a step in float64 for several of them."""
    compiled, module = _compiled_for_training(
        model, settings, torch.float64, dynamic=True
    )
    errors, bound = {}, TRAINING_BOUND
    steps = _eager_steps(model, settings, model.sizes)
    for size, (expected, own_bound) in zip(model.sizes, steps, strict=True):
        module.zero_grad(set_to_none=True)
        step = _step(compiled, module, model, size, settings, torch.float64)
        errors[str(size)] = max(step.distance(expected).values())
        bound = max(bound, own_bound)
    record = {"error": errors, "graphs": len(girih.report(compiled).graphs)}
    record["eager"] = fallbacks(compiled)
    return _judged(record, bound)


def _eager_step(model: Model, settings: Settings, dtype) -> tuple[Step, float]:
    """Eager's step for the first size, with its bound."""
    return next(_eager_steps(model, settings, model.sizes[:1], dtype))


def _eager_steps(
    model: Model, settings: Settings, sizes, dtype=torch.float64
) -> Iterator[tuple[Step, float]]:
    """Eager's steps, one after the other, each with its bound."""
    module = fresh(model, settings.device, dtype).train()
    for size in sizes:
        module.zero_grad(set_to_none=True)
        state = copy.deepcopy(module.state_dict())
        with RoundingOperations() as rounding, right_derivatives():
            step = _eager(
                lambda s=size: _step(module, module, model, s, settings, dtype)
            )
        if not step.loss["loss"].isfinite():
            raise EagerFailed(f"eager's loss is {float(step.loss['loss'])}")
        step.buffers = {n: b.clone() for n, b in step.buffers.items()}
        bound = TRAINING_BOUND
        if rounding.names and dtype == torch.float64:
            spread = _spread(model, settings, state, size, step)
            bound = min(max(ROUNDED_BOUND, TIMES_EAGER * spread), FLOAT32_BOUND)
        yield step, bound


def _spread(model: Model, settings: Settings, state, size, step: Step) -> float:
    """How far eager's step moves with noise in the last place of every float.

    0 where that changes more than numbers: a count in floats is a count no more.
    """
    module = fresh(model, settings.device, torch.float64).train()
    module.load_state_dict(state)
    try:
        with Noise(), right_derivatives():
            moved = _step(module, module, model, size, settings, torch.float64)
        return max(moved.distance(step).values())
    except Exception:
        return 0.0


def _compiled_for_training(model: Model, settings: Settings, dtype, **how):
    module = fresh(model, settings.device, dtype).train()
    return girih.compile(module, options=settings.options, **how), module


def _step(function, module, model: Model, size, settings: Settings, dtype) -> Step:
    return train(
        function, module, lambda f: call(f, model, size, settings.device, dtype)
    )


PARTS: dict[str, Callable[[Model, Settings], Record]] = {
    "forward": _forward,
    "training": _training,
    "training32": _training_float32,
    "dynamic": _dynamic,
    "dynamic-training": _dynamic_training,
}
