"""Whether a compiled program is eager's."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import torch
from breadth.notices import fallbacks, notices
from breadth.reference import right_derivatives
from torch import Tensor, nn

import girih
from girih.checking.arithmetic import Noise
from girih.passes.convolution_errors import overruns_channels_last
from random_modules.observation import Observation, observe
from random_modules.program import Program

TOLERANCE = {
    torch.float64: 1e-8,
    torch.float32: 2e-4,
    torch.float16: 2e-2,
    torch.bfloat16: 1e-1,
}
"""Beside eager's own error, relative to the largest value of the tensor, or to 1."""
TIMES_EAGER = 4
NOISY_RUNS = (8, 24)
"""Of eager, where a program differs by more; the second ones if the first are few."""


@dataclass(frozen=True)
class Verdict:
    """How a program fared.

    Attributes:
        kind: "right", "invalid" (eager has no such program), or what is wrong.
        detail: For people.
        refused: Why graphs ran as eager, though said.
    """

    kind: str
    detail: str = ""
    refused: tuple[str, ...] = ()

    @property
    def is_failure(self) -> bool:
        """Whether girih is wrong."""
        return self.kind not in ("right", "invalid")


class _Invalid(Exception):
    pass


def judge(program: Program) -> Verdict:
    """Runs a program compiled and in eager, once for each of its sizes."""
    girih.reset()
    torch._dynamo.reset()
    namespace = program.namespace()
    try:
        module = program.module(namespace)
    except Exception as error:
        return Verdict("invalid", str(error))
    mine, wide = copy.deepcopy(module), _wide_module(program, module)
    compiled = _compiled(program, mine)
    _refuse_overruns(module)
    both = (module, compiled, mine, wide)
    with notices() as heard:
        try:
            wrong = _first_difference(program, namespace["inputs"], both)
        except _Invalid as reason:
            return Verdict("invalid", str(reason))
        refused = _refused(program, compiled)
    if wrong and program.door == "torch" and _fails_in_dynamo(program):
        return Verdict("invalid", "TorchDynamo fails, with eager as its backend, too")
    if wrong and program.choices is not None:
        usual = judge(replace(program, choices=None))
        if usual.is_failure:
            return Verdict("invalid", f"usual decisions, too: {usual.kind}")
    if wrong:
        return Verdict(*wrong, refused)
    if refused and not heard:
        return Verdict("eager in silence", "; ".join(refused), refused)
    if faults := [reason for reason in refused if "girih bug" in reason]:
        return Verdict("fault", "; ".join(faults), refused)
    return Verdict("right", refused=refused)


def _fails_in_dynamo(program: Program) -> bool:
    """Whether TorchDynamo refuses what eager takes: girih sees nothing of it then."""
    torch._dynamo.reset()
    namespace = program.namespace()
    module = program.module(namespace)
    compiled = torch.compile(module, backend="eager", dynamic=program.dynamic)
    try:
        for size in program.sizes:
            compiled(*namespace["inputs"](size))
    except torch._dynamo.exc.TorchDynamoException:
        return True
    except Exception:
        return False
    return False


def run_in_eager(program: Program) -> None:
    """Runs a program in eager alone, as ``judge`` does: does that end the process?"""
    namespace = program.namespace()
    module = program.module(namespace)
    wide = _wide_module(program, module)
    _refuse_overruns(module)
    for size in program.sizes:
        _run_in_eager(program, lambda n=size: namespace["inputs"](n), module, wide)


def _refuse_overruns(module: nn.Module) -> None:
    """Has eager raise where a library's gradient would write outside of its memory."""

    def check(layer: nn.Module, given: tuple) -> None:
        image = given[0]
        is_turned = image.dim() > 2 and image.stride(1) == 1
        if is_turned and overruns_channels_last(layer.weight.shape, layer.stride):
            raise _Invalid("eager writes outside of its memory")

    for layer in module.modules():
        if isinstance(layer, nn.modules.conv._ConvNd):
            layer.register_forward_pre_hook(check)


def _refused(program: Program, compiled: Callable) -> tuple[str, ...]:
    reasons = fallbacks(compiled if program.door == "girih" else None)
    return tuple(dict.fromkeys(reasons))


def _first_difference(program, inputs, modules) -> tuple[str, str] | None:
    """The kind of the first difference, and its description with the size."""
    for number, size in enumerate(program.sizes, 1):
        if wrong := _differ(program, inputs, number, *modules):
            return wrong[0], f"n = {size}: {wrong[1]}"
    return None


def _compiled(program: Program, module: torch.nn.Module) -> Callable:
    if program.door == "girih":
        return girih.compile(module, dynamic=program.dynamic, options=program.options)
    return torch.compile(
        module, backend="girih", dynamic=program.dynamic, options=program.options
    )


def _wide_module(program: Program, module: torch.nn.Module):
    """The module in float64, with the same weights."""
    widened = program.widened()
    wide = widened.module(widened.namespace())
    wide.load_state_dict(module.state_dict())
    return wide


def _differ(program, inputs, number, module, compiled, mine, wide):
    """The first difference of a call: its kind and its description, or None."""

    def given():
        return inputs(program.sizes[number - 1])

    expected, precise = _run_in_eager(program, given, module, wide)
    found = observe(compiled, mine, program, given())
    if expected.error or found.error:
        return _other_error(program, found, expected)
    wrong = _difference(found, expected, precise)
    noise, noisy = Noise(), []
    for count in NOISY_RUNS:  # few programs differ by more, so few pay for these
        if wrong:
            noisy += [_noisy(program, inputs, number, noise) for _ in range(count)]
            wrong = _difference(found, expected, precise, noisy)
    if wrong:
        # TorchDynamo may have left to eager what eager gets wrong.
        plain = _plain(program, inputs, number)
        wrong = _difference(found, plain, plain) and wrong
    return wrong


def _plain(program: Program, inputs: Callable, number: int) -> Observation:
    """The call of a number in eager, with the derivatives that it has."""
    module = program.module(program.namespace())
    for size in program.sizes[:number]:
        seen = observe(module, module, program, inputs(size))
    return seen


def _run_in_eager(program, given, module, wide) -> tuple[Observation, Observation]:
    """What a call in eager leaves behind, and one in float64.

    Where eager raises, both are that error.
    """
    with right_derivatives():
        expected = observe(module, module, program, given())
        if expected.error:
            if not {"backward", _Invalid.__name__}.isdisjoint(expected.error):
                raise _Invalid(expected.message)
            return expected, expected
        widened = [x.double() if x.is_floating_point() else x for x in given()]
        precise = observe(wide, wide, program, widened)
    if precise.error:
        raise _Invalid(precise.message)
    return expected, precise


def _noisy(program: Program, inputs: Callable, number: int, noise) -> Observation:
    """The call of a number in eager, each float on the way moved in its last place.

    The calls before it are noisy, too: buffers inherit that.
    """
    module = program.module(program.namespace())
    for size in program.sizes[:number]:
        given = [noise.copied(x) for x in inputs(size)]
        with right_derivatives(), noise:
            seen = observe(module, module, program, given)
    return seen


def _other_error(
    program: Program, found: Observation, expected: Observation
) -> tuple[str, str] | None:
    if found.error == expected.error:
        return None
    if found.error and expected.error and program.door == "torch":
        return None  # TorchDynamo has errors of its own kinds.
    wanted = expected.error or ("call", "nothing")
    got = found.error or ("call", "nothing")
    detail = f"raises {got[1]} for {wanted[1]}: {found.message or expected.message}"
    return f"error in {(found.error or expected.error)[0]}", detail[:600]


def _difference(
    found: Observation,
    expected: Observation,
    precise: Observation,
    noisy: Sequence[Observation] = (),
) -> tuple[str, str] | None:
    for name, fact in expected.facts.items():
        other = found.facts.get(name)
        if other != fact:
            return f"facts of {name.split()[0]}", f"{name}: {other} for {fact}"
    for name, value in expected.values.items():
        samples = [seen.values.get(name) for seen in (precise, *noisy)]
        wrong = _value_differs(found.values.get(name), value, samples)
        if wrong:
            return name.partition(" ")[0], f"{name}: {wrong}"
    if found.shared != expected.shared:
        others = sorted(found.shared ^ expected.shared)
        return "memory", f"shared by one only: {others[:3]}"
    return None


def _value_differs(found, expected, samples) -> str:
    if expected is None or found is None:
        return "" if found is expected else f"{_brief(found)} for {_brief(expected)}"
    if found.shape != expected.shape or found.dtype != expected.dtype:
        return f"{_brief(found)} for {_brief(expected)}"
    if not expected.is_floating_point():
        return "" if torch.equal(found, expected) else f"{found} for {expected}"[:300]
    precise, *noisy = (
        expected if x is None or x.shape != expected.shape else x for x in samples
    )
    return _floats_differ(found, expected, precise, noisy)


def _brief(x: Tensor | None) -> str:
    return "None" if x is None else f"{x.dtype} {tuple(x.shape)}"


def _floats_differ(
    found: Tensor, expected: Tensor, precise: Tensor, noisy: Sequence[Tensor]
) -> str:
    exact = precise.double()
    scale = max(1.0, float(exact.abs().max())) if exact.numel() else 1.0
    if not expected.isfinite().all() or not exact.isfinite().all():
        # Eager overflows, or reads memory that nobody has written.
        error = (found.double() - exact).abs().nan_to_num(float("inf"))
        is_precise = bool((error <= TOLERANCE[expected.dtype] * scale).all())
        same = torch.equal(found.isnan(), expected.isnan())
        return "" if same or is_precise else "not a number in one only"
    if not exact.numel():
        return ""
    allowed = TIMES_EAGER * float((expected.double() - exact).abs().max())
    allowed += TOLERANCE[expected.dtype] * scale
    limits = allowed + _moved_by_noise(expected, exact, noisy)
    errors = (found.double() - exact).abs().nan_to_num(float("inf")).flatten()
    worst = int((errors - limits.flatten()).argmax())
    error, limit = float(errors[worst]), float(limits.flatten()[worst])
    return "" if error <= limit else f"off by {error:.2g}, allowed {limit:.2g}"


def _moved_by_noise(expected: Tensor, exact: Tensor, noisy: Sequence[Tensor]) -> Tensor:
    """How far rounding moves each element, beyond what is always allowed.

    An element that jumps in eager (the sign of a sum that is zero but for rounding) may
    do so here, as far; what does not jump there may not here. In narrow floats rounding
    itself is large behind a norm of what hardly differs: there the runs are a sample,
    and how far the typical element moves counts for all.
    """
    runs = torch.stack([x.double().nan_to_num(0.0) for x in (exact, *noisy)])
    moved = runs.amax(0) - runs.amin(0)  # 0 where there is no other run
    is_narrow = expected.dtype != torch.float64
    return moved + TIMES_EAGER * moved.median() if is_narrow else moved
