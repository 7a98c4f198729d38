"""Bar charts as SVG."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from xml.etree import ElementTree as ET

from benchmarks import svg

Bars = Mapping[str, Mapping[str, float]]
"""From the label of a row to its values by series."""

_LABEL_WIDTH = 170
_PLOT_WIDTH = 300
_VALUE_WIDTH = 50
_PANEL_WIDTH = _LABEL_WIDTH + _PLOT_WIDTH + _VALUE_WIDTH
_BAR = 9
_ROW_GAP = 8
_HEAD = 62
_PANEL_HEAD = 46
_FOOT = 14
_COLUMNS = 2


@dataclass(frozen=True)
class _Axis:
    """A logarithmic axis from ``low`` to ``high``, both powers of two."""

    low: float
    high: float

    def x(self, value: float) -> float:
        share = math.log2(value / self.low) / math.log2(self.high / self.low)
        return _LABEL_WIDTH + _PLOT_WIDTH * min(max(share, 0.0), 1.0)

    def ticks(self) -> Iterator[float]:
        tick = self.low
        while tick <= self.high:
            yield tick
            tick *= 2


def bar_panels(title: str, panels: Mapping[str, Bars]) -> str:
    """A chart of horizontal bars on a logarithmic axis that starts at 1.

    Args:
        title: Stands above all panels.
        panels: From the title of a panel to its rows of bars. The axis and the colour
            of each series are the same in all panels.

    Returns:
        The SVG document as text.
    """
    series = _series(panels)
    axis = _axis(panels)
    heights = [_panel_height(bars, len(series)) for bars in panels.values()]
    tallest = max(heights, default=0)
    rows = math.ceil(len(heights) / _COLUMNS)
    columns = min(_COLUMNS, max(len(heights), 1))
    root = svg.document(columns * _PANEL_WIDTH + 24, _HEAD + rows * tallest + 12)
    svg.text(root, 12, 26, title, size=17, weight="600")
    svg.legend(root, series)
    for number, (name, bars) in enumerate(panels.items()):
        x = 12 + (number % _COLUMNS) * _PANEL_WIDTH
        y = _HEAD + (number // _COLUMNS) * tallest
        group = ET.SubElement(root, "g", transform=f"translate({x},{y})")
        _panel(group, name, bars, series, axis)
    return svg.to_text(root)


def _series(panels: Mapping[str, Bars]) -> dict[str, str]:
    names = {
        name: None for bars in panels.values() for row in bars.values() for name in row
    }
    return {name: svg.COLORS[i % len(svg.COLORS)] for i, name in enumerate(names)}


def _axis(panels: Mapping[str, Bars]) -> _Axis:
    values = [
        v for bars in panels.values() for row in bars.values() for v in row.values()
    ]
    exponents = [math.log2(value) for value in values] or [0.0]
    low = math.floor(min([*exponents, -1.0]))
    high = math.ceil(max([*exponents, 1.0]))
    return _Axis(2.0**low, 2.0**high)


def _panel_height(bars: Bars, series: int) -> int:
    return _PANEL_HEAD + len(bars) * (series * _BAR + _ROW_GAP) + _FOOT


def _panel(group: ET.Element, name: str, bars: Bars, series, axis: _Axis) -> None:
    svg.text(group, 0, 16, name, size=14, weight="600")
    bottom = _panel_height(bars, len(series)) - _FOOT
    for tick in axis.ticks():
        _tick(group, axis.x(tick), tick, bottom)
    y = _PANEL_HEAD
    for label, values in bars.items():
        middle = y + len(series) * _BAR / 2 + 4
        svg.text(group, _LABEL_WIDTH - 8, middle, label, size=11, anchor="end")
        for row, (key, value) in enumerate(values.items()):
            _bar(group, y + row * _BAR, value, series[key], axis)
        y += len(series) * _BAR + _ROW_GAP


def _tick(group: ET.Element, x: float, value: float, bottom: float) -> None:
    color = svg.TEXT if value == 1.0 else svg.GRID
    svg.line(group, (x, _PANEL_HEAD - 8), (x, bottom), color)
    svg.text(group, x, _PANEL_HEAD - 14, f"{value:g}", size=10, anchor="middle")


def _bar(group: ET.Element, y: float, value: float, color: str, axis: _Axis) -> None:
    start, end = sorted((axis.x(1.0), axis.x(value)))
    svg.rect(group, start, y, max(end - start, 1.0), _BAR - 1, color)
    beside = end + 4 if value >= 1.0 else axis.x(1.0) + 4
    svg.text(group, beside, y + _BAR - 1.5, f"{value:.2f}", size=9)
