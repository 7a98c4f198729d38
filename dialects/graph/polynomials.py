"""Orthogonal polynomials of constant degree, whole on their classes.

``special`` says how they are written. Each has its recurrence alone. ``Source`` of all:
https://dlmf.nist.gov/18.9
"""

from collections.abc import Callable
from typing import Any

from girih.dialects.attributes import INT
from girih.dialects.fields import attribute
from girih.dialects.graph.elementwise_classes import FloatFunction
from girih.dialects.graph.formulas import NONE_IN_TORCH, Sample
from girih.dialects.rules import expect

# Kernels have every step of a recurrence; polynomials of more stay with ATen.
_MOST = 24


class Polynomial(FloatFunction):
    """y = the polynomial of degree n."""

    INSTRUCTIONS = 20
    GRADIENT = NONE_IN_TORCH
    SAMPLE = Sample(-2, 2, ({"n": 0}, {"n": 1}, {"n": 7}))

    n = attribute(INT)

    @classmethod
    def takes(cls, number: Any) -> bool:
        """Degrees of short recurrences."""
        return type(number) is int and 0 <= number <= _MOST

    def verify_invariants(self) -> None:
        """The degree is one."""
        expect(self.n >= 0, "n", "be 0 or more", self.n)


def by_recurrence(first: Callable, step: Callable) -> Callable:
    """A formula: the polynomial of degree 1, and the next of x, k, the last, before.

    Below degree 2 ``before`` is 1.
    """

    def formula(f: Any, x: Any, n: int) -> Any:
        before = 1.0
        if n == 0:
            return f.where(x.equals(x), 1.0, 1.0)
        last = first(x)
        for k in range(1, n):
            last, before = step(x, k, last, before), last
        return last

    return formula


def _chebyshev(first: Callable) -> Callable:
    return by_recurrence(first, lambda x, k, last, before: (x + x) * last - before)


def _shifted(first: Callable) -> Callable:
    def step(x: Any, k: int, last: Any, before: Any) -> Any:
        inner = x + x - 1
        return (inner + inner) * last - before

    return by_recurrence(first, step)


class ChebyshevPolynomialTOp(Polynomial, name="chebyshev_polynomial_t"):
    """y = T_n(x)."""

    ATEN = "special_chebyshev_polynomial_t.n_scalar"
    EMIT = _chebyshev(lambda x: x)


class ChebyshevPolynomialUOp(Polynomial, name="chebyshev_polynomial_u"):
    """y = U_n(x)."""

    ATEN = "special_chebyshev_polynomial_u.n_scalar"
    EMIT = _chebyshev(lambda x: x + x)


class ChebyshevPolynomialVOp(Polynomial, name="chebyshev_polynomial_v"):
    """y = V_n(x)."""

    ATEN = "special_chebyshev_polynomial_v.n_scalar"
    EMIT = _chebyshev(lambda x: x + x - 1)


class ChebyshevPolynomialWOp(Polynomial, name="chebyshev_polynomial_w"):
    """y = W_n(x)."""

    ATEN = "special_chebyshev_polynomial_w.n_scalar"
    EMIT = _chebyshev(lambda x: x + x + 1)


class ShiftedChebyshevPolynomialTOp(Polynomial, name="shifted_chebyshev_polynomial_t"):
    """y = T_n(2 x - 1)."""

    ATEN = "special_shifted_chebyshev_polynomial_t.n_scalar"
    EMIT = _shifted(lambda x: x + x - 1)


class ShiftedChebyshevPolynomialUOp(Polynomial, name="shifted_chebyshev_polynomial_u"):
    """y = U_n(2 x - 1)."""

    ATEN = "special_shifted_chebyshev_polynomial_u.n_scalar"
    EMIT = _shifted(lambda x: (x + x - 1) * 2)


class ShiftedChebyshevPolynomialVOp(Polynomial, name="shifted_chebyshev_polynomial_v"):
    """y = V_n(2 x - 1)."""

    ATEN = "special_shifted_chebyshev_polynomial_v.n_scalar"
    EMIT = _shifted(lambda x: (x + x - 1) * 2 - 1)


class ShiftedChebyshevPolynomialWOp(Polynomial, name="shifted_chebyshev_polynomial_w"):
    """y = W_n(2 x - 1)."""

    ATEN = "special_shifted_chebyshev_polynomial_w.n_scalar"
    EMIT = _shifted(lambda x: (x + x - 1) * 2 + 1)


class HermitePolynomialHOp(Polynomial, name="hermite_polynomial_h"):
    """y = H_n(x), the physicist's."""

    ATEN = "special_hermite_polynomial_h.n_scalar"
    EMIT = by_recurrence(
        lambda x: x + x,
        lambda x, k, last, before: (x + x) * last - before * (2 * k),
    )


class HermitePolynomialHeOp(Polynomial, name="hermite_polynomial_he"):
    """y = He_n(x), the probabilist's."""

    ATEN = "special_hermite_polynomial_he.n_scalar"
    EMIT = by_recurrence(lambda x: x, lambda x, k, last, before: x * last - before * k)


class LaguerrePolynomialLOp(Polynomial, name="laguerre_polynomial_l"):
    """y = L_n(x)."""

    ATEN = "special_laguerre_polynomial_l.n_scalar"
    EMIT = by_recurrence(
        lambda x: 1 - x,
        lambda x, k, last, before: ((-x + (2 * k + 1)) * last - before * k) / (k + 1),
    )


class LegendrePolynomialPOp(Polynomial, name="legendre_polynomial_p"):
    """y = P_n(x)."""

    ATEN = "special_legendre_polynomial_p.n_scalar"
    EMIT = by_recurrence(
        lambda x: x,
        lambda x, k, last, before: (x * (2 * k + 1) * last - before * k) / (k + 1),
    )
