"""SVG elements, with nothing but the standard library."""

from __future__ import annotations

from collections.abc import Mapping
from xml.etree import ElementTree as ET

COLORS = ("#9aa5b1", "#1f6f8b", "#d98032", "#6b4c9a")
TEXT = "#24292f"
GRID = "#e3e7eb"


def document(width: int, height: int) -> ET.Element:
    """A white page."""
    root = ET.Element(
        "svg",
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {width} {height}",
        width=str(width),
        height=str(height),
    )
    root.set("font-family", "system-ui, -apple-system, Helvetica, Arial, sans-serif")
    rect(root, 0, 0, width, height, "#ffffff")
    return root


def to_text(root: ET.Element) -> str:
    """The document as text."""
    ET.indent(root)
    return ET.tostring(root, encoding="unicode") + "\n"


def legend(root: ET.Element, series: Mapping[str, str]) -> None:
    """Names with their colours, under the title."""
    x = 12
    for name, color in series.items():
        rect(root, x, 38, 12, 12, color)
        text(root, x + 17, 48, name, size=12)
        x += 34 + 7 * len(name)


def rect(
    parent: ET.Element, x: float, y: float, width: float, height: float, fill: str
) -> None:
    """A filled rectangle."""
    ET.SubElement(
        parent,
        "rect",
        x=f"{x:.1f}",
        y=f"{y:.1f}",
        width=f"{width:.1f}",
        height=f"{height:.1f}",
        fill=fill,
    )


def line(
    parent: ET.Element, start: tuple[float, float], end: tuple[float, float], color: str
) -> None:
    """A thin straight line."""
    element = ET.SubElement(parent, "line", stroke=color)
    for name, (x, y) in (("1", start), ("2", end)):
        element.set(f"x{name}", f"{x:.1f}")
        element.set(f"y{name}", f"{y:.1f}")


def text(
    parent: ET.Element, x: float, y: float, content: str, *, size: int, **style: str
) -> None:
    """Text at a baseline; ``weight`` and ``anchor`` as in SVG."""
    element = ET.SubElement(parent, "text", x=f"{x:.1f}", y=f"{y:.1f}", fill=TEXT)
    element.set("font-size", str(size))
    if weight := style.get("weight"):
        element.set("font-weight", weight)
    if anchor := style.get("anchor"):
        element.set("text-anchor", anchor)
    element.text = content
