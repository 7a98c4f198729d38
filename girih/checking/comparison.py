"""The runs of one call, and where they part."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from girih.checking.arithmetic import Draws, InDouble, Noise, widened
from girih.checking.closeness import difference
from girih.checking.copies import copied, unchanged
from girih.checking.runs import Run, is_differentiable, own_random_numbers, run


@dataclass(frozen=True)
class Difference:
    """One thing that is other than in eager.

    Attributes:
        what: "result", "argument", "gradient", "error", "backward error" or "random".
        number: Of the result, or of the input that was written or whose gradient it is;
            0 for what there is one of, None if there is another number of them.
        how: How it differs, in plain words.
    """

    what: str
    number: int | None
    how: str


def compare(
    eager: Callable, compiled: Callable, inputs: Sequence[Any]
) -> list[Difference]:
    """Runs a graph both ways on copies of its inputs.

    The program's random numbers and its tensors are left as they are.

    Args:
        eager: The graph's own function.
        compiled: What was made of it.
        inputs: What it is called with.

    Returns:
        What differs beyond what float arithmetic explains.

    Raises:
        NotCopied: An input is of a kind that can't be copied.
    """
    with own_random_numbers(inputs) as rewind:

        def eagerly(mode, change=unchanged):
            rewind()
            return run(eager, copied(inputs, change), _cotangents, mode)

        draws = Draws()
        expected = eagerly(draws)
        rewind()
        actual = run(compiled, copied(inputs), _cotangents)
        if expected.error is not None or actual.error is not None:
            return list(_errors("error", actual.error, expected.error))
        samples = [eagerly(InDouble(draws), widened)]
        found = list(_differences(actual, expected, samples))
        if found:  # few programs differ by more, so few pay for the other runs
            noise = Noise()
            samples += [eagerly(noise, noise.copied) for _ in range(NOISY_RUNS)]
            found = list(_differences(actual, expected, samples))
    return found


NOISY_RUNS = 2
"""One may hit a value by luck."""


def _cotangents(made: Run) -> list[torch.Tensor]:
    """Random ones, which depend on the number and the sizes of a result alone."""
    return [
        cotangent(number, result)
        for number, result in enumerate(made.results)
        if is_differentiable(result)
    ]


def cotangent(number: int, result: torch.Tensor) -> torch.Tensor:
    """A random one, which depends on the number and the sizes of a result alone."""
    generator = torch.Generator().manual_seed(number)
    wide = torch.complex128 if result.is_complex() else torch.float64
    drawn = torch.randn(result.shape, dtype=wide, generator=generator)
    # Eager's own dtype rounds it, so that the one in float64 has the same value.
    rounded = drawn.to(torch.complex64 if result.is_complex() else torch.bfloat16)
    return rounded.to(result.dtype).to(result.device)


def _errors(what: str, actual, expected) -> Iterator[Difference]:
    if type(actual) is type(expected):
        return
    if expected is None:
        yield Difference(what, 0, f"raises {_named(actual)}, where eager does not")
    elif actual is None:
        yield Difference(what, 0, f"does not raise eager's {_named(expected)}")
    else:
        how = f"raises {_named(actual)} instead of {_named(expected)}"
        yield Difference(what, 0, how)


def _named(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"


def _differences(
    actual: Run, expected: Run, samples: list[Run]
) -> Iterator[Difference]:
    samples = [sample for sample in samples if sample.error is None]
    parts = (
        ("result", "results"),
        ("argument", "arguments"),
        ("gradient", "gradients"),
        ("random", "random"),
    )
    yield from _errors("backward error", actual.backward_error, expected.backward_error)
    if actual.backward_error or expected.backward_error:
        parts = parts[:2]
    for what, name in parts:
        lists = [getattr(made, name) for made in (actual, expected, *samples)]
        yield from _compare_lists(what, *lists)


def _count(values: Sequence[Any], what: str) -> str:
    return f"{len(values)} {what}{'' if len(values) == 1 else 's'}"


def _compare_lists(what: str, actual, expected, *samples) -> Iterator[Difference]:
    if len(actual) != len(expected):
        how = f"the compiled function gives {_count(actual, what)}, eager gives "
        yield Difference(what, None, how + str(len(expected)))
        return
    for number, (one, other) in enumerate(zip(actual, expected, strict=True)):
        known = [s[number] for s in samples if len(s) == len(expected)]
        how = difference(one, other, known)
        if how is not None:
            yield Difference(what, number, how)
