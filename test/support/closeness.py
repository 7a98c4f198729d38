"""When a compiled result counts as eager's."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

RELATIVE = {torch.float64: 1e-7, torch.float32: 1.3e-6}
RELATIVE |= {torch.float16: 1e-3, torch.bfloat16: 1.6e-2}
ABSOLUTE = {torch.float64: 1e-7, torch.float32: 1e-5}
ABSOLUTE |= {torch.float16: 1e-3, torch.bfloat16: 1e-2}


def assert_like_eager(
    actual: object,
    expected: object,
    precise: Callable[[], object] | None = None,
    label: str = "result",
    sums: bool = False,
) -> None:
    """Asserts equal structure, dtypes, sizes and strides, and close values.

    Args:
        actual: What girih computed: a tensor, a sequence of such, or a plain value.
        expected: What eager computed.
        precise: Computes the same in float64. Where actual and eager's values are
            not close, actual must be about as near to this as eager's.
        label: Names the result in messages.
        sums: The values are sums of many terms: each may be as wrong as eager's
            worst, because terms may cancel in one and not in another.
    """
    if isinstance(expected, Tensor):
        _assert_tensors(actual, expected, precise, label, sums)
    elif isinstance(expected, list | tuple):
        assert type(actual) is type(expected), f"{label}: {type(actual)}"
        assert len(actual) == len(expected), f"{label}: {len(actual)} results"
        for i, (a, e) in enumerate(zip(actual, expected, strict=True)):
            part = precise and (lambda i=i: precise()[i])
            assert_like_eager(a, e, part, f"{label}[{i}]", sums)
    else:
        assert actual == expected, f"{label}: expected {expected!r}, got {actual!r}"


def _assert_tensors(actual, expected: Tensor, precise, label: str, sums: bool) -> None:
    assert isinstance(actual, Tensor), f"{label}: got {type(actual)}"
    for name in ("dtype", "shape", "device", "requires_grad"):
        got, want = getattr(actual, name), getattr(expected, name)
        assert got == want, f"{label}: expected {name} {want}, got {got}"
    assert _steps(actual) == _steps(expected), (
        f"{label}: expected strides {expected.stride()}, got {actual.stride()} "
        f"for shape {tuple(expected.shape)}"
    )
    if not expected.is_floating_point():
        assert torch.equal(actual, expected), _differences(label, actual, expected)
    elif not _are_close(actual, expected).all():
        assert precise is not None, _differences(label, actual, expected)
        exact = precise()
        assert _is_as_good(actual, expected, exact, sums), (
            _differences(label, actual, expected) + f"\nfloat64 gives {exact}"
        )


def _steps(tensor: Tensor) -> Sequence[int]:
    """Strides of the dims in which there is more than one element."""
    if not tensor.numel():
        return ()
    return [s for n, s in zip(tensor.shape, tensor.stride(), strict=True) if n > 1]


def _are_close(actual: Tensor, expected: Tensor) -> Tensor:
    dtype = expected.dtype
    return torch.isclose(
        actual, expected, RELATIVE[dtype], ABSOLUTE[dtype], equal_nan=True
    )


def _is_as_good(actual: Tensor, expected: Tensor, exact: Tensor, sums: bool) -> bool:
    """Whether actual's error is about eager's or less, element by element."""
    exact = exact.double()
    eagers_error = (expected.double() - exact).abs().nan_to_num(0, 0, 0)
    if sums:
        eagers_error = eagers_error.max()
    spacing = torch.finfo(expected.dtype).eps * exact.abs()
    allowed = 3 * eagers_error + 4 * spacing + torch.finfo(expected.dtype).tiny
    error = (actual.double() - exact).abs()
    same = (actual.double() == exact) | (actual == expected)
    same |= actual.isnan() & (expected.isnan() | exact.isnan())
    same |= _are_close(actual, expected)
    return bool((same | (error <= allowed)).all())


def _differences(label: str, actual: Tensor, expected: Tensor) -> str:
    """The first elements that differ, with their places."""
    differs = ~torch.isclose(
        actual.double(), expected.double(), 1e-6, 1e-6, equal_nan=True
    )
    places = differs.nonzero().tolist()
    shown = [
        f"  at {tuple(p)}: expected {expected[tuple(p)].item()!r}, "
        f"got {actual[tuple(p)].item()!r}"
        for p in places[:5]
    ]
    head = f"{label}: {len(places)} of {expected.numel()} elements differ"
    return "\n".join(
        [f"{head}, {expected.dtype}, shape {tuple(expected.shape)}", *shown]
    )
