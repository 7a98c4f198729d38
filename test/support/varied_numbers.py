"""Calls the operators of torch's table with numbers that vary, against eager.

Each sample of an operator becomes a function of its tensors and its numbers. A compiled
function is called with the sample's own numbers, then with others in place of one of
them: negative ones, zero, one, and ones beyond what the operator takes. An int reaches
the function as a number that the caller gives, or as the difference of two sizes, whose
sign no range tells.
"""

from __future__ import annotations

import itertools
import logging
import math
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import op_samples
import torch
from op_samples import name_of
from operator_table import op_db
from torch import Tensor
from torch.utils import _pytree as pytree

import girih
from girih import fallbacks

# Numbers of a sample that are larger are no sizes, and tensors of such sizes are slow.
LARGEST = 64
# The size that stands for zero where a number is the difference of two sizes.
ORIGIN = LARGEST + 2
# Numbers in place of a sample's own, besides those next to it and its negative.
OTHERS = {
    int: (0, 1, -1, 2, -3, 7, 40, -40),
    float: (0.0, 1.0, 0.5, 2.5, math.inf, -math.inf, math.nan),
}

# Operators whose results eager does not determine, and why.
UNDETERMINED = {
    "grid_sampler_2d": "kernels read garbage where a mode is none of the known ones",
    "grid_sampler_3d": "kernels read garbage where a mode is none of the known ones",
    "as_strided_scatter": "torch's own derivative keeps what was overwritten",
    "empty": "what it returns was never written",
    "empty_like": "what it returns was never written",
    "empty_permuted": "what it returns was never written",
    "empty_strided": "what it returns was never written",
    "new_empty": "what it returns was never written",
    "new_empty_strided": "what it returns was never written",
    "resize_": "what it returns was never written",
    "resize_as_": "what it returns was never written",
    "svd_lowrank": "its basis is any",
    "pca_lowrank": "its basis is any",
}


# torch writes what an operation raises on fake tensors to its log.
logging.getLogger("torch").setLevel(logging.CRITICAL)


@dataclass(frozen=True)
class Case:
    """One sample of one operator, as a function of its tensors and numbers.

    Attributes:
        label: Names the sample.
        text: The function as Python, with the numbers as parameters.
        names: What the text means by the names that are no parameters.
        tensors: The tensors of the sample.
        numbers: The numbers of the sample.
    """

    label: str
    text: str
    names: dict[str, Any]
    tensors: tuple[Tensor, ...]
    numbers: tuple[int | float, ...]

    def function(self, *, from_sizes: bool) -> Callable:
        """The call as a function of its tensors and then of its numbers.

        Args:
            from_sizes: The function takes a tensor in place of each number, and one
                more in front of them: a number is how much larger the tensor is.
        """
        count = range(len(self.numbers))
        given = [f"x{i}" for i in range(len(self.tensors))]
        lines = []
        if from_sizes:
            given += ["origin", *(f"s{i}" for i in count)]
            lines = [f"    n{i} = {_from_size(i, self.numbers[i])}" for i in count]
        else:
            given += [f"n{i}" for i in count]
        head = f"def called({', '.join(given)}):"
        scope = dict(self.names)
        text = "\n".join([head, *lines, f"    return {self.text}"])
        exec(compile(text, f"<{self.label}>", "exec"), scope)
        return scope["called"]


@dataclass(frozen=True)
class Difference:
    """A call that does not give what eager gives.

    Attributes:
        label: Names the sample.
        entrance: How it was compiled.
        numbers: The numbers of the call.
        kind: "values", "error", "gradient", "second gradient", "generator" or "bug".
        detail: What both gave.
    """

    label: str
    entrance: str
    numbers: tuple[int | float, ...]
    kind: str
    detail: str

    def __str__(self) -> str:
        where = f"{self.label} {self.numbers} {self.entrance}"
        return f"{where}: {self.kind}: {self.detail}"


def operators() -> dict[str, Any]:
    """The entries of the table that have samples with numbers, by name."""
    found = {name_of(op): op for op in op_db if op.name not in UNDETERMINED}
    return {name: found[name] for name in sorted(found)}


def cases(name: str, op: Any, limit: int) -> Iterator[Case]:
    """At most ``limit`` samples of an operator that have numbers."""
    dtypes = (torch.float64, torch.float32, torch.int64, torch.bool, torch.complex128)
    dtype = next((d for d in dtypes if op.supports_dtype(d, "cpu")), None)
    if dtype is None or name in op_samples.EXCLUDED:
        return
    wants = dtype == torch.float64 and op.supports_autograd
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        samples = list(op.sample_inputs("cpu", dtype, requires_grad=wants))
    made = [_case(name, op, number, s) for number, s in enumerate(samples)]
    kept = [case for case in made if case is not None]
    spread = op_samples._spread(len(kept), limit)
    yield from (kept[i] for i in spread)


def _case(name: str, op: Any, number: int, sample: Any) -> Case | None:
    leaves = pytree.tree_leaves((sample.input, sample.args, sample.kwargs))
    places = [i for i, leaf in enumerate(leaves) if isinstance(leaf, Tensor)]
    numbers = tuple(leaf for leaf in leaves if type(leaf) in (int, float))
    if not numbers or any(type(n) is int and abs(n) > LARGEST for n in numbers):
        return None
    tensors = tuple(leaves[i].detach() for i in places)
    if any(t.layout != torch.strided for t in tensors):
        return None
    for tensor, i in zip(tensors, places, strict=True):
        tensor.requires_grad_(leaves[i].requires_grad)
    writer = _Writer()
    args = [writer.text(arg) for arg in (sample.input, *sample.args)]
    args += [f"{key}={writer.text(value)}" for key, value in sample.kwargs.items()]
    text = f"operator({', '.join(args)})"
    names = {**writer.constants, "operator": op.op}
    return Case(f"{name}[{number}]", text, names, tensors, numbers)


def _from_size(place: int, number: int | float) -> str:
    if type(number) is float:
        return f"s{place}"
    return f"s{place}.shape[0] - origin.shape[0]"


class _Writer:
    """Writes arguments as Python, with names for tensors, ints and all else."""

    def __init__(self):
        self.constants: dict[str, Any] = {}
        self._tensors = itertools.count()
        self._numbers = itertools.count()

    def text(self, value: Any) -> str:
        """The expression of one argument."""
        if isinstance(value, Tensor):
            return f"x{next(self._tensors)}"
        if type(value) in (int, float):
            return f"n{next(self._numbers)}"
        if type(value) is tuple:
            return f"({''.join(self.text(item) + ', ' for item in value)})"
        if type(value) is list:
            return f"[{', '.join(map(self.text, value))}]"
        name = f"c{len(self.constants)}"
        self.constants[name] = value
        return name


def variations(numbers: Sequence[int | float]) -> Iterator[tuple[int | float, ...]]:
    """The sample's numbers, then others in place of one of them."""
    numbers = tuple(numbers)
    yield numbers
    for place, number in enumerate(numbers):
        others = (number + 1, number - 1, -number, *OTHERS[type(number)])
        for other in dict.fromkeys(others):
            if other != number:
                yield (*numbers[:place], other, *numbers[place + 1 :])
    yield numbers


# Comparing ----------------------------------------------------------------------------

# Each way to compile, and whether numbers are differences of sizes.
ENTRANCES = {
    "compile": (lambda f: girih.compile(f, dynamic=True), False),
    "compile, of sizes": (lambda f: girih.compile(f, dynamic=True), True),
    "compile, second call": (lambda f: girih.compile(f), True),
    "torch.compile": (lambda f: torch.compile(f, backend="girih", dynamic=True), False),
    "torch.compile, of sizes": (
        lambda f: torch.compile(f, backend="girih", dynamic=True),
        True,
    ),
}


def differences(case: Case, entrance: str) -> list[Difference]:
    """The calls of a case that do not give what eager gives."""
    make, from_sizes = ENTRANCES[entrance]
    eager = case.function(from_sizes=from_sizes)
    is_dynamo = entrance.startswith("torch.")
    girih.reset()
    if is_dynamo:
        torch._dynamo.reset()
    compiled = make(eager)
    found = _deviations(case, entrance, eager, compiled)
    if is_dynamo and any(one.kind in ("error", "values") for one in found):
        # What TorchDynamo does by itself says nothing of girih.
        torch._dynamo.reset()
        alone = torch.compile(eager, backend="eager", dynamic=True)
        control = {o.numbers for o in _deviations(case, entrance, eager, alone)}
        found = [one for one in found if one.numbers not in control]
    return found


def _deviations(case: Case, entrance: str, eager: Callable, compiled: Callable):
    from_sizes = ENTRANCES[entrance][1]
    found = []
    with warnings.catch_warnings(), fallbacks.collected() as told:
        warnings.simplefilter("ignore")
        for numbers in variations(case.numbers):
            given = _given(case, numbers, from_sizes)
            # A sum of what an infinite factor gives is NaN or infinite by its order.
            orders = 2 if all(map(math.isfinite, numbers)) else 0
            expected, actual = (observed(f, given, orders) for f in (eager, compiled))
            kind, detail = compared(expected, actual)
            if kind and compared(expected, observed(eager, given, orders))[0]:
                continue  # eager itself gives something else each time
            if kind:
                found.append(Difference(case.label, entrance, numbers, kind, detail))
    for fallback in told:
        if fallback.kind == "bug":
            found.append(Difference(case.label, entrance, (), "bug", fallback.reason))
    return found


def _given(case: Case, numbers: Sequence[int | float], from_sizes: bool) -> list:
    if not from_sizes:
        return [*case.tensors, *numbers]
    sizes = [
        number if type(number) is float else torch.empty(ORIGIN + number)
        for number in numbers
    ]
    return [*case.tensors, torch.empty(ORIGIN), *sizes]


@dataclass(frozen=True)
class Observed:
    """What a call gives: the error it raises, or its results and derivatives."""

    error: Exception | None = None
    results: tuple = ()
    gradients: tuple = ()
    second: tuple = ()
    generator: Any = None


def observed(
    function: Callable,
    given: list,
    orders: int = 2,
    parameters: Callable[[], Iterable[Tensor]] = tuple,
) -> Observed:
    """Calls a function of tensors and numbers, and derives what it gives.

    Args:
        function: What to call.
        given: Its arguments.
        orders: How often to derive: 2, 1 or 0.
        parameters: Gives, after the call, what is derived by besides the arguments.
    """
    torch.manual_seed(0)
    inputs = [
        x.detach().clone().requires_grad_(x.requires_grad)
        if isinstance(x, Tensor)
        else x
        for x in given
    ]
    try:
        results = pytree.tree_leaves(function(*inputs))
    except Exception as error:  # noqa: BLE001  (whatever it is, eager's is the same)
        return Observed(error)
    state = torch.get_rng_state()
    seen = tuple(r.detach().clone() if isinstance(r, Tensor) else r for r in results)
    leaves = [x for x in (*inputs, *parameters()) if _has_history(x)]
    if not orders:
        return Observed(None, seen, generator=state)
    try:
        first = _derived([r for r in results if _has_history(r)], leaves, orders > 1)
        second = _derived([g for g in first if _has_history(g)], leaves, False)
    except RuntimeError as error:
        return Observed(error, seen, generator=state)
    detach = lambda many: tuple(g if g is None else g.detach() for g in many)  # noqa: E731
    return Observed(None, seen, detach(first), detach(second), state)


def _has_history(value: Any) -> bool:
    return isinstance(value, Tensor) and value.requires_grad


def _derived(
    results: list[Tensor], leaves: list[Tensor], is_derived_again: bool
) -> list[Tensor | None]:
    if not results or not leaves:
        return []
    weights = [torch.linspace(1, 2, r.numel()).to(r).view(r.shape) for r in results]
    return list(
        torch.autograd.grad(
            results, leaves, weights, create_graph=is_derived_again, allow_unused=True
        )
    )


def compared(expected: Observed, actual: Observed) -> tuple[str, str]:
    """What kind of difference there is, "" for none, and what both gave."""
    if not _is_same_error(expected.error, actual.error):
        return "error", f"eager {_text(expected)}, compiled {_text(actual)}"
    for kind, name in (
        ("values", "results"),
        ("gradient", "gradients"),
        ("second gradient", "second"),
    ):
        pair = getattr(expected, name), getattr(actual, name)
        if problem := _unlike(*pair):
            return kind, problem
    if expected.error is None and not torch.equal(expected.generator, actual.generator):
        return "generator", "another state of the generator"
    return "", ""


def _is_same_error(expected: Exception | None, actual: Exception | None) -> bool:
    if expected is None or actual is None:
        return expected is actual
    # TorchDynamo wraps what an operation raises on fake tensors.
    wrapped = type(actual).__module__ == "torch._dynamo.exc"
    return wrapped or type(expected) is type(actual)


def _text(observed: Observed) -> str:
    if observed.error is None:
        return "gives a result"
    first = (str(observed.error).splitlines() or [""])[0]
    return f"raises {type(observed.error).__name__}: {first[:90]}"


def _is_nothing(gradient: Any) -> bool:
    """Whether a derivative is none, or zero all over."""
    return gradient is None or isinstance(gradient, Tensor) and not gradient.any()


def _unlike(expected: tuple, actual: tuple) -> str:
    for number, (one, other) in enumerate(itertools.zip_longest(expected, actual)):
        if _is_nothing(one) and _is_nothing(other):
            continue
        try:
            torch.testing.assert_close(
                other, one, rtol=1e-6, atol=1e-7, equal_nan=True, check_stride=False
            )
        except (AssertionError, TypeError, ValueError) as error:
            return f"{number}: {' '.join(str(error).split())[:160]}"
    return ""
