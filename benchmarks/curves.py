"""Curves over steps as SVG: several series on one pair of axes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from xml.etree import ElementTree as ET

from benchmarks import svg

_WIDTH, _HEIGHT = 760, 380
_LEFT, _RIGHT, _TOP, _BOTTOM = 58, 744, 66, 340
# The first curve is wide and pale, so that the next shows where it covers it.
_STROKES = (("#9aa5b1", 6.0), ("#1f6f8b", 1.5), ("#d98032", 1.5), ("#6b4c9a", 1.5))


@dataclass(frozen=True)
class _Axes:
    """Steps from 0 to ``steps``, values from ``low`` to ``high``, powers of ten."""

    steps: int
    low: float
    high: float

    def x(self, step: float) -> float:
        return _LEFT + (_RIGHT - _LEFT) * step / max(self.steps, 1)

    def y(self, value: float) -> float:
        value = min(max(value, self.low), self.high)
        share = math.log(value / self.low) / math.log(self.high / self.low)
        return _BOTTOM - (_BOTTOM - _TOP) * share

    def powers(self) -> Iterator[float]:
        exponent = round(math.log10(self.low))
        while 10.0**exponent <= self.high * 1.01:
            yield 10.0**exponent
            exponent += 1

    def step_ticks(self) -> Iterator[int]:
        """About eight round numbers."""
        rough = max(self.steps / 8, 1.0)
        power = 10 ** math.floor(math.log10(rough))
        size = next(power * m for m in (1, 2, 5, 10) if power * m >= rough)
        return iter(range(0, self.steps + 1, size))


def curves(title: str, series: Mapping[str, Sequence[float]], x_label: str) -> str:
    """A chart of positive values by step, on a logarithmic axis.

    Args:
        title: Stands above.
        series: From a name to a value for each step, four of them at most; each is
            drawn over those before it.
        x_label: What a step is.

    Returns:
        The SVG document as text.
    """
    root = svg.document(_WIDTH, _HEIGHT)
    svg.text(root, 12, 26, title, size=17, weight="600")
    strokes = dict(zip(series, _STROKES, strict=False))
    svg.legend(root, {name: color for name, (color, _) in strokes.items()})
    axes = _axes(series)
    _grid(root, axes, x_label)
    for name, values in series.items():
        _curve(root, axes, values, *strokes[name])
    return svg.to_text(root)


def _axes(series: Mapping[str, Sequence[float]]) -> _Axes:
    values = [v for row in series.values() for v in row if v > 0 and math.isfinite(v)]
    exponents = [math.log10(value) for value in values] or [0.0]
    low, high = math.floor(min(exponents)), math.ceil(max(exponents))
    steps = max((len(row) for row in series.values()), default=1)
    return _Axes(steps, 10.0**low, 10.0 ** max(high, low + 1))


def _grid(root: ET.Element, axes: _Axes, x_label: str) -> None:
    for value in axes.powers():
        y = axes.y(value)
        svg.line(root, (_LEFT, y), (_RIGHT, y), svg.GRID)
        svg.text(root, _LEFT - 8, y + 4, f"{value:g}", size=11, anchor="end")
    for step in axes.step_ticks():
        x = axes.x(step)
        svg.line(root, (x, _BOTTOM), (x, _BOTTOM + 5), svg.TEXT)
        svg.text(root, x, _BOTTOM + 18, str(step), size=11, anchor="middle")
    svg.line(root, (_LEFT, _BOTTOM), (_RIGHT, _BOTTOM), svg.TEXT)
    middle = (_LEFT + _RIGHT) / 2
    svg.text(root, middle, _BOTTOM + 34, x_label, size=12, anchor="middle")


def _curve(
    root: ET.Element, axes: _Axes, values: Sequence[float], color: str, width: float
) -> None:
    points = [
        f"{axes.x(step):.1f},{axes.y(value):.1f}"
        for step, value in enumerate(values)
        if math.isfinite(value)
    ]
    element = ET.SubElement(root, "polyline", points=" ".join(points), fill="none")
    element.set("stroke", color)
    element.set("stroke-width", str(width))
    element.set("stroke-linejoin", "round")
