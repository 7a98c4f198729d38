"""Operations that eager refuses are eager's errors, in time."""

import pytest
import torch
from capture_differential import compile_eagerly

import girih

REFUSED = {
    "complex": lambda x: x.add_(torch.tensor(1j)),
    "complex_number": lambda x: x.mul_(1j),
    "float": lambda x: x.int().div_(2),
    "float_of_a_function": lambda x: x.int().sqrt_(),
    "float_of_products": lambda x: x.int().addcmul_(x, x),
    "list": lambda x: torch._foreach_add_([x], [torch.tensor(1j)]),
    "differences_of_bools": lambda x: x.bool().sub_(x.bool()),
    "alpha": lambda x: x.int().add_(x.int(), alpha=2.5),
    "complex_fill": lambda x: x.fill_(1j),
    "interpolated_integers": lambda x: x.int().lerp_(x, 0.5),
    "rounded_bools": lambda x: x.bool().round_(),
    "bits_of_floats": lambda x: x.bitwise_and_(1),
    "divisors_of_floats": lambda x: x.gcd_(x),
    "sums_of_another_type": lambda x: x.cumsum_(0, dtype=torch.float64),
    "products_of_other_types": lambda x: (
        x.view(1, 3).int().addmm_(x[:1, None], x[None])
    ),
    "negative_powers": lambda x: x.int().pow_(-1),
    "mask_of_numbers": lambda x: x.masked_fill_(x, 1.5),
    "repeated_elements": lambda x: x[:1].expand(3).add_(1),
    "random_integers": lambda x: x.int().normal_(),
    "values_of_another_type": lambda x: x.scatter_(0, x.long(), x.double()),
    "rows_of_another_type": lambda x: x.index_add_(0, x.long(), x.double()),
    "absolute_bools": lambda x: x.bool().abs(),
    "negated_bools": lambda x: -x.bool(),
    "products_of_types": lambda x: x @ x.double(),
    "rectified_bools": lambda x: torch.relu(x.bool()),
    "norm_of_integers": lambda x: torch.linalg.norm(x.int()),
    "softmax_of_integers": lambda x: x.int().softmax(0),
    "mean_of_integers": lambda x: x.int().mean(),
    "largest_of_none": lambda x: x[:0].max(),
    "smallest_of_none": lambda x: x[:0].min(),
}
TAKEN = {
    "comparison": lambda x: x.eq_(1),
    "narrower_float": lambda x: x.add_(torch.ones(3, dtype=torch.float64)),
    "sums_of_integers": lambda x: x.int().cumsum_(0),
    "list": lambda x: torch._foreach_mul_([x], 1.5),
    "alpha": lambda x: x.int().add_(x.int(), alpha=2),
    "filled": lambda x: x.int().fill_(1.5),
    "repeated_elements": lambda x: x[:1].expand(3).fill_(2),
    "mask": lambda x: x.masked_fill_(x > 0, 1.5),
    "random": lambda x: x.int().random_(1, 2),
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


def _caught(operation, state, total, x):
    state.count += 1
    total.add_(1)
    try:
        operation(x)
    except (RuntimeError, NotImplementedError) as error:
        total.mul_(3)
        return str(error)
    return None


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_around_it_catches_the_error(name):
    results = []
    for program in (_caught, compile_eagerly(_caught, fullgraph=False)):
        state, total, x = State(), torch.zeros(()), torch.ones(3)
        caught = program(REFUSED[name], state, total, x)
        assert caught is not None
        results.append((caught, state.count, total.item(), x.tolist()))
    assert results[0] == results[1]


@pytest.mark.parametrize("name", TAKEN)
def test_what_fits_is_written(name):
    compiled = compile_eagerly(_program)
    assert _outcome(compiled, TAKEN[name]) == _outcome(_program, TAKEN[name])


@pytest.mark.parametrize("name", ["max", "min"])
@pytest.mark.parametrize("dynamic", [False, True])
def test_no_dim_of_nothing_has_an_extreme(name, dynamic):
    def largest(x):
        return getattr(x, name)(-1)

    compiled = girih.compile(largest, dynamic=dynamic, options={"fallback": False})
    compiled(torch.ones(2, 3))
    with pytest.raises(IndexError) as expected:
        largest(torch.ones(2, 0))
    with pytest.raises(IndexError) as caught:
        compiled(torch.ones(2, 0))
    assert str(caught.value) == str(expected.value)
