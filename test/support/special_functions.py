"""Special functions that kernels compute, and how far they are from the exact values.

The cases are those of ``SAMPLE`` on the ops' classes. ``python special_functions.py``
prints the table of docs/numerics.md.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import mpmath
import torch
from torch import Tensor

import girih
from girih.dialects import graph
from girih.dialects.graph.elementwise_classes import FloatFunction

mpmath.mp.dps = 30
_ROOT = mpmath.sqrt(2)
_DIGITS = {torch.float32: 24, torch.float64: 53}


class Case(NamedTuple):
    """A function of ATen with numbers among its arguments."""

    cls: type[FloatFunction]
    attributes: dict[str, Any]

    @property
    def name(self) -> str:
        """The op's name, with its attributes."""
        numbers = "-".join(str(value) for value in self.attributes.values())
        return "-".join(filter(None, (self.cls.SHORT_NAME, numbers)))

    def __call__(self, x: Tensor) -> Tensor:
        operator, _, overload = self.cls.overload().partition(".")
        function = getattr(getattr(torch.ops.aten, operator), overload)
        return function(*self.cls.arguments(x, list(self.attributes.values())))

    def compiled(self) -> Callable:
        """The function as a kernel."""
        return girih.compile(lambda x: self(x) * 1, options={"fallback": False})

    def points(self, *shape: int, dtype: torch.dtype = torch.float64) -> Tensor:
        """Random operands."""
        low, high = self.cls.SAMPLE[:2]
        return (low + (high - low) * torch.rand(shape, dtype=torch.float64)).to(dtype)

    def exact(self, point: float) -> mpmath.mpf:
        """The value with all digits."""
        function = EXACT[self.cls.SHORT_NAME]
        return function(mpmath.mpf(point), *self.attributes.values())

    def size(self, point: float) -> mpmath.mpf:
        """What errors are measured against: the exact value, for most functions.

        Near zeros that of ``SCALE``; for polynomials, the sum of their absolute terms.
        """
        name = self.cls.SHORT_NAME
        if name in TERMS:
            return TERMS[name](mpmath.mpf(point), *self.attributes.values())
        return max(abs(self.exact(point)), SCALE.get(name, 0))

    def errors(self, x: Tensor, results: Tensor) -> list[float]:
        """Distances from the exact values in ulp of ``size``."""
        found = []
        for point, value in zip(x.tolist(), results.tolist(), strict=True):
            wanted, size = self.exact(point), self.size(point)
            if size == 0:
                found.append(0.0 if value == 0 else float("inf"))
                continue
            exponent = mpmath.floor(mpmath.log(size, 2)) + 1 - _DIGITS[x.dtype]
            found.append(float(abs(value - wanted) / mpmath.mpf(2) ** exponent))
        return found


CASES = [
    Case(cls, attributes)
    for cls in graph.OPS.values()
    if issubclass(cls, FloatFunction)
    for attributes in cls.SAMPLE.attributes
]


IS_LONG = bool(os.environ.get("GIRIH_TEST_LONG"))

# One case for each class. Polynomials differ in their recurrence alone: the short form
# takes layouts, dtypes and devices with one of them.
FUNCTIONS = list({case.cls: case for case in CASES}.values())
SOME = [
    case
    for case in FUNCTIONS
    if IS_LONG or "polynomial" not in case.name or case.name.startswith("legendre")
]


def _shifted(function: Callable) -> Callable:
    return lambda x, n: function(2 * x - 1, n)


def _third(x: Any, n: int) -> Any:
    return mpmath.chebyu(n, x) - mpmath.chebyu(n - 1, x) if n else mpmath.mpf(1)


def _fourth(x: Any, n: int) -> Any:
    return mpmath.chebyu(n, x) + mpmath.chebyu(n - 1, x) if n else mpmath.mpf(1)


def _first(x: Any, n: int) -> Any:
    return mpmath.chebyt(n, x)


def _second(x: Any, n: int) -> Any:
    return mpmath.chebyu(n, x)


def _inverse_normal(x: Any) -> Any:
    with mpmath.workdps(80):  # of 2 x - 1
        return mpmath.sqrt(2) * mpmath.erfinv(2 * x - 1)


EXACT: dict[str, Callable] = {
    "bessel_j0": mpmath.j0,
    "bessel_j1": mpmath.j1,
    "bessel_y0": lambda x: mpmath.bessely(0, x),
    "bessel_y1": lambda x: mpmath.bessely(1, x),
    "chebyshev_polynomial_t": _first,
    "chebyshev_polynomial_u": _second,
    "chebyshev_polynomial_v": _third,
    "chebyshev_polynomial_w": _fourth,
    "digamma": mpmath.digamma,
    "entr": lambda x: -x * mpmath.log(x),
    "erfcx": lambda x: mpmath.exp(x * x) * mpmath.erfc(x),
    "erfinv": mpmath.erfinv,
    "hermite_polynomial_h": lambda x, n: mpmath.hermite(n, x),
    "hermite_polynomial_he": lambda x, n: (
        mpmath.hermite(n, x / _ROOT) / _ROOT**n  # H of another scale
    ),
    "i0": lambda x: mpmath.besseli(0, x),
    "i0e": lambda x: mpmath.besseli(0, x) * mpmath.exp(-abs(x)),
    "i1": lambda x: mpmath.besseli(1, x),
    "i1e": lambda x: mpmath.besseli(1, x) * mpmath.exp(-abs(x)),
    "laguerre_polynomial_l": lambda x, n: mpmath.laguerre(n, 0, x),
    "legendre_polynomial_p": lambda x, n: mpmath.legendre(n, x),
    "lgamma": lambda x: mpmath.log(abs(mpmath.gamma(x))),
    "log_ndtr": lambda x: mpmath.log(mpmath.erfc(-x / _ROOT) / 2),
    "modified_bessel_i0": lambda x: mpmath.besseli(0, x),
    "modified_bessel_i1": lambda x: mpmath.besseli(1, x),
    "modified_bessel_k0": lambda x: mpmath.besselk(0, x),
    "modified_bessel_k1": lambda x: mpmath.besselk(1, x),
    "ndtri": _inverse_normal,
    "polygamma": lambda x, n: mpmath.psi(n, x),
    "scaled_modified_bessel_k0": lambda x: mpmath.exp(x) * mpmath.besselk(0, x),
    "scaled_modified_bessel_k1": lambda x: mpmath.exp(x) * mpmath.besselk(1, x),
    "shifted_chebyshev_polynomial_t": _shifted(_first),
    "shifted_chebyshev_polynomial_u": _shifted(_second),
    "shifted_chebyshev_polynomial_v": _shifted(_third),
    "shifted_chebyshev_polynomial_w": _shifted(_fourth),
    "sinc": lambda x: mpmath.sincpi(x),
    "spherical_bessel_j0": mpmath.sinc,
}

# Near zeros of these no float is close in ulp: errors are those of such values.
SCALE = {"bessel_j0": 0.125, "bessel_j1": 0.125, "bessel_y0": 0.25, "bessel_y1": 0.125}
SCALE |= {"lgamma": 0.25, "digamma": 0.25, "sinc": 0.125, "spherical_bessel_j0": 0.01}


def _of_absolute_powers(function: Callable) -> Callable:
    """The sum of the absolute terms, of one whose powers are all even, or all odd."""
    return lambda x, n: abs(function(mpmath.mpc(0, abs(x)), n))


def _of_two(x: Any, n: int) -> Any:
    terms = _of_absolute_powers(_second)
    return terms(x, n) + terms(x, n - 1) if n else mpmath.mpf(1)


# The sum of the absolute terms of each polynomial, in powers of x or of 2 x - 1.
TERMS: dict[str, Callable] = {
    "chebyshev_polynomial_t": _of_absolute_powers(_first),
    "chebyshev_polynomial_u": _of_absolute_powers(_second),
    "chebyshev_polynomial_v": _of_two,
    "chebyshev_polynomial_w": _of_two,
    "hermite_polynomial_h": _of_absolute_powers(EXACT["hermite_polynomial_h"]),
    "hermite_polynomial_he": _of_absolute_powers(EXACT["hermite_polynomial_he"]),
    "laguerre_polynomial_l": lambda x, n: mpmath.laguerre(n, 0, -abs(x)),
    "legendre_polynomial_p": _of_absolute_powers(EXACT["legendre_polynomial_p"]),
}
TERMS |= {
    f"shifted_{name}": _shifted(terms)
    for name, terms in TERMS.items()
    if name.startswith("chebyshev")
}
# The most ulp from the exact value, in float32 and float64: what 400 to 3000 random
# operands showed, rounded up. Below are the polynomials, by the same number.
BOUNDS = {
    "bessel_j0": 5,
    "bessel_j1": 5,
    "bessel_y0": 10,
    "bessel_y1": 16,
    "digamma": 3,
    "entr": 2,
    "erfcx": 5,
    "erfinv": 3,
    "i0": 5,
    "i0e": 4,
    "i1": 8,
    "i1e": 8,
    "lgamma": 3,
    "log_ndtr": 6,
    "modified_bessel_i0": 5,
    "modified_bessel_i1": 5,
    "modified_bessel_k0": 5,
    "modified_bessel_k1": 4,
    "ndtri": 6,
    "polygamma": 6,
    "scaled_modified_bessel_k0": 6,
    "scaled_modified_bessel_k1": 4,
    "sinc": 6,
    "spherical_bessel_j0": 2,
}
BOUNDS |= dict.fromkeys(TERMS, 16)


def table(names: list[str], count: int = 400) -> list[str]:
    """Lines of markdown: the largest error of each function, beside eager's."""
    torch.manual_seed(0)
    lines = [
        "| function | from, to | float32 | eager's | float64 | eager's |",
        "|---|---|---|---|---|---|",
    ]
    for case in FUNCTIONS:
        if names and case.cls.SHORT_NAME not in names:
            continue
        low, high = case.cls.SAMPLE[:2]
        cells = [f"`{case.name}`", f"{low:g}, {high:g}"]
        for dtype in (torch.float32, torch.float64):
            x = case.points(count, dtype=dtype)
            for function in (case.compiled(), case):
                cells.append(f"{max(case.errors(x, function(x))):.1f}")
        lines.append(f"| {' | '.join(cells)} |")
    return lines


if __name__ == "__main__":
    print("\n".join(table(sys.argv[1:])))
