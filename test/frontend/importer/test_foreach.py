"""Operations on lists of tensors are native: no call of ATen is left."""

from __future__ import annotations

import pytest
import torch

import girih

_SHAPES = ((3, 4), (5,), (), (2, 0))


def _tensors(seed: int) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return [torch.rand(shape, generator=generator) + 0.5 for shape in _SHAPES]


_NUMBERS = [1.5, 2.0, 0.25, 3.0]

# Names with the arguments behind the first list.
_CALLS = {
    "add scalar": ("add", lambda: (2.0,), {}),
    "add list": ("add", lambda: (_tensors(1),), {"alpha": 0.5}),
    "add numbers": ("add", lambda: (_NUMBERS,), {}),
    "add tensor": ("add", lambda: (torch.tensor(1.5),), {"alpha": 2.0}),
    "sub list": ("sub", lambda: (_tensors(1),), {"alpha": 3.0}),
    "mul tensor": ("mul", lambda: (torch.tensor(1.5),), {}),
    "mul numbers": ("mul", lambda: (_NUMBERS,), {}),
    "div list": ("div", lambda: (_tensors(1),), {}),
    "clamp_min scalar": ("clamp_min", lambda: (1.0,), {}),
    "clamp_max list": ("clamp_max", lambda: (_tensors(1),), {}),
    "maximum list": ("maximum", lambda: (_tensors(1),), {}),
    "maximum scalar": ("maximum", lambda: (1.0,), {}),
    "minimum numbers": ("minimum", lambda: (_NUMBERS,), {}),
    "lerp scalar": ("lerp", lambda: (_tensors(1), 0.3), {}),
    "lerp list": ("lerp", lambda: (_tensors(1), _tensors(2)), {}),
    "pow scalar": ("pow", lambda: (3.0,), {}),
    "pow list": ("pow", lambda: (_tensors(1),), {}),
    "addcdiv scalar": ("addcdiv", lambda: (_tensors(1), _tensors(2)), {"value": 2.0}),
    "addcdiv numbers": ("addcdiv", lambda: (_tensors(1), _tensors(2), _NUMBERS), {}),
    "addcdiv tensor": (
        "addcdiv",
        lambda: (_tensors(1), _tensors(2), torch.tensor(_NUMBERS)),
        {},
    ),
    "addcmul tensor": (
        "addcmul",
        lambda: (_tensors(1), _tensors(2), torch.tensor(_NUMBERS)),
        {},
    ),
    **{name: (name, lambda: (), {}) for name in ("neg", "sqrt", "exp", "reciprocal")},
}


@pytest.mark.parametrize("name", _CALLS)
@pytest.mark.parametrize("suffix", ["", "_"])
def test_like_eager(name: str, suffix: str) -> None:
    """Values, also where lists are written."""
    base, make, kwargs = _CALLS[name]
    function = getattr(torch, f"_foreach_{base}{suffix}")

    def call(tensors, *args):
        result = function(tensors, *args, **kwargs)
        return tuple(tensors if suffix else result)

    expected = call(_tensors(0), *make())
    compiled = girih.compile(call, fullgraph=True, options={"fallback": False})
    torch.testing.assert_close(compiled(_tensors(0), *make()), expected)
    assert girih.report(compiled).externs == 0


@pytest.mark.parametrize("order", [1.0, 2.0])
def test_norm(order: float) -> None:
    """The norm of each tensor."""

    def norms(tensors):
        return tuple(torch._foreach_norm(tensors, order))

    compiled = girih.compile(norms, fullgraph=True, options={"fallback": False})
    torch.testing.assert_close(compiled(_tensors(0)), norms(_tensors(0)))
    assert girih.report(compiled).externs == 0


def test_base_without_tensors() -> None:
    """A number to the power of each tensor."""

    def powers(tensors):
        return tuple(torch._foreach_pow(0.9, tensors))

    compiled = girih.compile(powers, fullgraph=True, options={"fallback": False})
    torch.testing.assert_close(compiled(_tensors(0)), powers(_tensors(0)))


def test_number_that_varies() -> None:
    """An input of the graph, as for one tensor."""

    def scaled(tensors, factor):
        return tuple(torch._foreach_mul(tensors, factor))

    compiled = girih.compile(scaled, fullgraph=True, dynamic=True)
    for factor in (0.5, 1.5, 2.5):
        expected = scaled(_tensors(0), factor)
        torch.testing.assert_close(compiled(_tensors(0), factor), expected)
    assert len(girih.report(compiled).graphs) == 1


def _twice(tensors):
    torch._foreach_mul_([tensors[0], tensors[1], tensors[0]], 3)
    return tensors[0] + 1, tensors[1] + 1


def _in_a_circle(tensors):
    torch._foreach_add_([tensors[0], tensors[2]], [tensors[2], tensors[0]], alpha=2)
    return tensors


def _views(tensors):
    whole = torch.arange(6.0)
    torch._foreach_mul_([whole[:4], whole[2:]], 2)
    torch._foreach_copy_([whole[1:], whole[:-1]], [whole[:-1] + 1, whole[1:] * 3])
    return whole


def _shared(tensors):
    torch._foreach_mul_([tensors[2], tensors[0]], tensors[2])
    return tensors


def _numbers(tensors):
    torch._foreach_pow_([tensors[0], tensors[0]], [2.0, 0.5])
    torch._foreach_addcmul_([tensors[1]] * 2, [tensors[1]] * 2, [tensors[1]] * 2, 0.5)
    return tensors


@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize(
    "call", [_twice, _in_a_circle, _views, _shared, _numbers], ids=lambda f: f.__name__
)
def test_lists_whose_tensors_share_memory(call, dynamic) -> None:
    """ATen goes through the lists in order, and so reads what it has written."""
    made = [[t.abs() + 1 for t in _tensors(0)] for _ in range(2)]
    for tensors in made:
        tensors[2] = torch.tensor(1.5) if call is _shared else tensors[0].clone()
    expected = call(made[0])
    compiled = girih.compile(
        call, fullgraph=True, dynamic=dynamic, options={"fallback": False}
    )
    torch.testing.assert_close(compiled(made[1]), expected)
    torch.testing.assert_close(made[1], made[0])
