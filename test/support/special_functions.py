"""Special functions that kernels compute, and how far they are from the exact values.

The cases are those of ``SAMPLE`` on the ops' classes. ``python special_functions.py``
prints the table of docs/special-functions.md.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import mpmath
import torch
from torch import Tensor

import girih
from girih.dialects import graph
from girih.dialects.graph.elementwise_classes import FloatFunction

mpmath.mp.dps = 40
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

    def errors(self, x: Tensor, results: Tensor) -> list[float]:
        """Distances from the exact values in ulp, near zeros those of ``SCALE``."""
        least = SCALE.get(self.cls.SHORT_NAME, 0)
        found = []
        for point, value in zip(x.tolist(), results.tolist(), strict=True):
            wanted = self.exact(point)
            size = max(abs(wanted), least)
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
    "ndtri": lambda x: _ROOT * mpmath.erfinv(2 * x - 1),
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
SCALE = {name: 0.125 for name in EXACT if name.startswith("bessel")}
SCALE |= {name: 1 for name in EXACT if "polynomial" in name}
SCALE |= {"hermite_polynomial_h": 64, "hermite_polynomial_he": 8}
SCALE |= {"lgamma": 0.25, "digamma": 0.25, "sinc": 0.125, "spherical_bessel_j0": 0.01}


def table(names: list[str], count: int = 400) -> list[str]:
    """Lines of markdown: the largest error of each function, beside eager's."""
    torch.manual_seed(0)
    lines = [
        "| function | from, to | float32 | eager's | float64 | eager's |",
        "|---|---|---|---|---|---|",
    ]
    for case in {case.cls: case for case in CASES}.values():
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
