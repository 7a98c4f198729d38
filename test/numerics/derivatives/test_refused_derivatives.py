"""Derivatives by all operands, those that eager refuses too: its error or its value.

The long form tries all operators of torch's table.
"""

import operator_calls
import pytest
import refused_derivatives
from extent import IS_LONG, extent
from varied_numbers import observed

TABLE = operator_calls.table()
SHORT = ("floor_divide", "heaviside", "lerp", "nn.functional.rrelu")
NAMES = [name for name in TABLE if name not in refused_derivatives.KNOWN]


@pytest.mark.parametrize("entrance", operator_calls.COMPILERS if IS_LONG else ["girih"])
@pytest.mark.parametrize("name", extent(SHORT, long=tuple(NAMES)))
def test_as_in_eager(name, entrance):
    found = []
    for case in refused_derivatives.derived(name, TABLE[name], 1):
        for dynamic in extent((None,), long=(None, True)):
            if problem := refused_derivatives.difference(case, entrance, dynamic):
                found.append(f"{case.label}, dynamic={dynamic}: {problem}")
    assert not found, "\n".join(found)


def _errors(name):
    cases = refused_derivatives.derived(name, TABLE[name], 1)
    return [observed(case.function, list(case.tensors)).error for case in cases]


def test_the_short_form_has_what_eager_refuses():
    refused = {name for name in SHORT if any(_errors(name))}
    assert refused == {"floor_divide", "heaviside"}


def test_the_comparison_finds_a_derivative_that_is_not_refused(monkeypatch):
    case = next(refused_derivatives.derived("heaviside", TABLE["heaviside"], 1))
    wrong = lambda *_: lambda *tensors: [sum(tensors)]  # noqa: E731
    monkeypatch.setattr(refused_derivatives, "compiled", wrong)
    assert refused_derivatives.difference(case, "girih", None)
