"""Writes whose result the written tensor can't hold are eager's errors, in time."""

import pytest
import torch
from capture_differential import compile_eagerly

REFUSED = {
    "complex": lambda x: x.add_(torch.tensor(1j)),
    "complex_number": lambda x: x.mul_(1j),
    "float": lambda x: x.int().div_(2),
    "float_of_a_function": lambda x: x.int().sqrt_(),
    "float_of_products": lambda x: x.int().addcmul_(x, x),
    "list": lambda x: torch._foreach_add_([x], [torch.tensor(1j)]),
    "differences_of_bools": lambda x: x.bool().sub_(x.bool()),
    "alpha": lambda x: x.int().add_(x.int(), alpha=2.5),
}
TAKEN = {
    "comparison": lambda x: x.eq_(1),
    "narrower_float": lambda x: x.add_(torch.ones(3, dtype=torch.float64)),
    "sums_of_integers": lambda x: x.int().cumsum_(0),
    "list": lambda x: torch._foreach_mul_([x], 1.5),
    "alpha": lambda x: x.int().add_(x.int(), alpha=2),
}


class State:
    count = 0


def _outcome(program, operation):
    state, total, x = State(), torch.zeros(()), torch.ones(3)
    try:
        program(operation, state, total, x)
    except RuntimeError as error:
        return str(error), state.count, total.item()
    return x.tolist(), state.count, total.item()


def _program(operation, state, total, x):
    state.count += 1
    total.add_(1)
    return operation(x)


@pytest.mark.parametrize("name", REFUSED)
def test_nothing_is_lost_before_the_error(name):
    compiled = compile_eagerly(_program, fullgraph=False)
    expected = _outcome(_program, REFUSED[name])
    assert isinstance(expected[0], str)
    assert _outcome(compiled, REFUSED[name]) == expected


@pytest.mark.parametrize("name", TAKEN)
def test_what_fits_is_written(name):
    compiled = compile_eagerly(_program)
    assert _outcome(compiled, TAKEN[name]) == _outcome(_program, TAKEN[name])
