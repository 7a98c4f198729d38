"""Op samples: functions with inputs, compared with eager in one compilation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from closeness import assert_like_eager
from extent import IS_LONG
from tensors import FLOATS, normal
from torch import Tensor

import girih


@dataclass(frozen=True)
class Spec:
    """How to make one input.

    Attributes:
        shape: Sizes.
        dtype: None for the dtype of the run.
        high: Integers from 0 up to this, which is excluded.
        layout: Changes the memory layout, see ``tensors.LAYOUTS``.
    """

    shape: tuple[int, ...]
    dtype: torch.dtype | None = None
    high: int | None = None
    layout: Callable[[Tensor], Tensor] | None = None

    def make(self, dtype: torch.dtype) -> Tensor:
        """The tensor, for the dtype of the run."""
        if self.high is not None:
            values = torch.randint(self.high, self.shape, dtype=self.dtype)
        else:
            values = normal(self.shape, self.dtype or dtype, scale=1.0)
        return self.layout(values) if self.layout else values


def index(shape: tuple[int, ...], high: int) -> Spec:
    """Integers from 0 to ``high - 1``."""
    return Spec(shape, torch.int64, high)


def mask(shape: tuple[int, ...]) -> Spec:
    """Random booleans."""
    return Spec(shape, torch.bool)


@dataclass(frozen=True)
class Sample:
    """One function with the inputs that it is tried on.

    Attributes:
        name: Of the test.
        function: What eager and girih run.
        inputs: A shape, or a ``Spec``, for each argument.
        dtypes: Dtypes of the inputs that have none of their own.
    """

    name: str
    function: Callable
    inputs: tuple[Any, ...]
    dtypes: Sequence[torch.dtype] = field(default=FLOATS)

    def make(self, dtype: torch.dtype) -> tuple[Tensor, ...]:
        """The inputs."""
        specs = [s if isinstance(s, Spec) else Spec(s) for s in self.inputs]
        return tuple(spec.make(dtype) for spec in specs)


def each_dtype(samples: Iterable[Sample]) -> list[Any]:
    """Parameters ``sample, dtype`` for ``pytest.mark.parametrize``.

    In the short form a sample has its first dtype and every other one of the rest.
    """
    import pytest

    return [
        pytest.param(s, dtype, id=f"{s.name}-{str(dtype).removeprefix('torch.')}")
        for number, s in enumerate(samples)
        for place, dtype in enumerate(s.dtypes)
        if IS_LONG or not place or (place + number) % 2
    ]


def check_sample(sample: Sample, dtype: torch.dtype, **options: Any) -> None:
    """Compiles the sample's function and compares with eager."""
    check(sample.function, {sample.name: sample.make(dtype)}, **options)


def check(
    function: Callable, calls: dict[str, tuple], *, sums: bool = False, **options: Any
) -> None:
    """Compares a compiled function with eager on many lists of arguments.

    All calls are compiled as one program, which is much faster than one by one. Calls
    at which eager raises are left out.

    Args:
        function: The function.
        calls: From a label to the arguments.
        sums: The results are sums of many terms, see ``assert_like_eager``.
        options: For ``girih.compile``.
    """
    expected = eager_results(function, calls)
    calls = {label: calls[label] for label in expected}
    assert calls, "eager raises at every call"

    def program(all_arguments):
        return [function(*arguments) for arguments in all_arguments]

    options.setdefault("options", {"fallback": False})
    compiled = girih.compile(program, fullgraph=True, dynamic=False, **options)
    with torch.no_grad():
        results = compiled(list(calls.values()))
    for (label, arguments), actual in zip(calls.items(), results, strict=True):
        precise = precisely(function, arguments)
        assert_like_eager(actual, expected[label], precise, label, sums)


def eager_results(function: Callable, calls: dict[str, tuple]) -> dict[str, Any]:
    """Results by label, without the calls that raise."""
    results = {}
    with torch.no_grad():
        for label, arguments in calls.items():
            try:
                results[label] = function(*arguments)
            except (RuntimeError, IndexError, TypeError, ValueError):
                continue
    return results


def precisely(function: Callable, arguments: Sequence[Any]) -> Callable[[], Any]:
    """A function that computes the same in float64."""

    def run():
        wide = [
            x.double() if isinstance(x, Tensor) and x.is_floating_point() else x
            for x in arguments
        ]
        with torch.no_grad():
            return function(*wide)

    return run
