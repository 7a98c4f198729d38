"""Draws the pictures of README.md: the way from Python to kernels, and speed.

``python -m benchmarks.pictures`` writes ``docs/way.svg``, from the list of the
compiler's stages, and ``docs/speed.svg``, from the newest results on a CPU. Both have
colours for light and for dark pages.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree as ET

from girih.passes import stages
from girih.passes.stages import CompilerStage

ROOT = Path(__file__).resolve().parent.parent
WIDTH = 760
_LABELS, _UNIT = 170, 72
_STYLE = """
text { font-family: system-ui, -apple-system, Helvetica, Arial, sans-serif; }
.box { fill: #eef4f7; stroke: #1f6f8b; }
.name { fill: #14323d; font-weight: 600; font-size: 14px; }
.what, .stage { fill: #57606a; font-size: 12px; }
.stage { font-family: ui-monospace, Menlo, Consolas, monospace; font-size: 11px; }
.way { stroke: #8b98a5; stroke-width: 1.5; fill: none; }
.eager { fill: #9aa5b1; } .inductor { fill: #d98032; } .girih { fill: #1f6f8b; }
@media (prefers-color-scheme: dark) {
  .box { fill: #13262d; stroke: #5fb3cf; }
  .name { fill: #d7eaf1; }
  .what, .stage { fill: #9aa5b1; }
  .girih { fill: #5fb3cf; }
}
"""


class Level(NamedTuple):
    """A form that a program has on its way.

    Attributes:
        name: What it is.
        what: What it consists of.
        stages: The stages that lead to the next level.
    """

    name: str
    what: str
    stages: Sequence[CompilerStage]


LEVELS = (
    Level("Python function", "bytecode, or what TorchDynamo captured", ()),
    Level("FX graph", "torch-level calls, with guards", (stages.IMPORT,)),
    Level("graph", "an MLIR dialect of tensors as values", stages.INFERENCE),
    Level("fusions", "each becomes a kernel; the rest are calls", stages.CPU.launch),
    Level("launch program", "buffers, launches, calls of ATen", ()),
)
# The last ones, each from one of MLIR's dialects to another, say little.
_CPU_STAGES = [stage for stage in stages.CPU.kernels if stage not in stages.TO_LLVM]
ENDS = (
    Level("kernels for the CPU", "LLVM makes object code in process", _CPU_STAGES),
    Level("kernels for GPUs", "Triton compiles each grid", stages.GPU.kernels),
)


def way() -> str:
    """The picture of the levels, each with the stages that lead from it to the next."""
    root = _page(WIDTH, 470)
    y = 12
    for level in LEVELS:
        _box(root, 16, y, 300, level)
        if level.stages:
            _stages(root, 336, y + 18, level.stages, 400)
        y += 72
        if level is not LEVELS[-1]:
            _arrow(root, 166, y - 24, y)
    _arrow(root, 166, y - 24, y)
    for x, end in zip((16, 390), ENDS, strict=True):
        _box(root, x, y, 354, end)
        _stages(root, x, y + 64, end.stages, 354)
    ET.SubElement(root, "path", {"class": "way", "d": f"M166 {y - 12} H567 V{y}"})
    return _text_of(root)


def _page(width: int, height: int) -> ET.Element:
    root = ET.Element(
        "svg",
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {width} {height}",
        width=str(width),
        height=str(height),
    )
    ET.SubElement(root, "style").text = _STYLE
    return root


def _text_of(root: ET.Element) -> str:
    ET.indent(root)
    return ET.tostring(root, encoding="unicode") + "\n"


def _write(root: ET.Element, x: float, y: float, text: str, kind: str, **more) -> None:
    element = ET.SubElement(root, "text", {"class": kind, "x": f"{x:g}", "y": f"{y:g}"})
    element.attrib.update(more)
    element.text = text


def _box(root: ET.Element, x: int, y: int, width: int, level: Level) -> None:
    shape = {"x": x, "y": y, "width": width, "height": 48, "rx": 6}
    given = {name: str(value) for name, value in shape.items()}
    ET.SubElement(root, "rect", {"class": "box", **given})
    _write(root, x + 12, y + 20, level.name, "name")
    _write(root, x + 12, y + 38, level.what, "what")


def _stages(
    root: ET.Element, x: int, y: int, found: Sequence[CompilerStage], width: int
) -> None:
    """The names of stages, in lines of a width."""
    lines, line = [], ""
    for stage in found:
        longer = f"{line}  {stage.name}".strip()
        if line and len(longer) * 6.7 > width:
            lines.append(line)
            longer = stage.name
        line = longer
    for number, text in enumerate([*lines, line]):
        _write(root, x, y + 15 * number, text, "stage")


def _arrow(root: ET.Element, x: int, start: int, end: int) -> None:
    path = f"M{x} {start} V{end} M{x - 4} {end - 5} L{x} {end} L{x + 4} {end - 5}"
    ET.SubElement(root, "path", {"class": "way", "d": path})


def speed(rows: Sequence[dict]) -> str:
    """How many times faster than eager kernels are, as bars.

    Args:
        rows: Of ``kernels.json``: for each case the seconds by engine.
    """
    shown = [r for r in rows if (r["size"], r["dtype"]) == ("in cache", "float32")]
    root = _page(WIDTH, 46 + 28 * len(shown))
    title = "times faster than eager: kernels in cache, float32, two cores"
    _write(root, 16, 20, title, "what")
    for x, name in ((560, "girih"), (640, "inductor")):
        _bar(root, x, 11, 10, name)
        _write(root, x + 16, 20, name, "what")
    path = f"M{_LABELS + _UNIT} 32 V{36 + 28 * len(shown)}"
    ET.SubElement(root, "path", {"class": "way", "d": path})
    for number, row in enumerate(shown):
        y = 36 + 28 * number
        anchor = {"text-anchor": "end"}
        _write(root, _LABELS - 10, y + 15, row["case"], "what", **anchor)
        for place, engine in enumerate(("girih", "inductor")):
            ratio = row["seconds"]["eager"] / row["seconds"][engine]
            _bar(root, _LABELS, y + 11 * place, ratio * _UNIT, engine)
            end = _LABELS + 6 + ratio * _UNIT
            _write(
                root, max(end, _LABELS + 6), y + 11 * place + 9, f"{ratio:.1f}", "stage"
            )
    return _text_of(root)


def _bar(root: ET.Element, x: float, y: float, width: float, kind: str) -> None:
    shape = {"x": x, "y": y, "width": width, "height": 10}
    given = {name: f"{value:g}" for name, value in shape.items()}
    ET.SubElement(root, "rect", {"class": kind, **given})


def newest_kernels() -> Path:
    """The newest results of ``benchmarks.kernels`` on a processor."""
    return sorted((ROOT / "benchmarks" / "results").glob("*-cpu/kernels.json"))[-1]


def main(arguments: Sequence[str]) -> int:
    """Writes the pictures; returns the exit code."""
    source = Path(arguments[0]) if arguments else newest_kernels()
    pictures = {"way": way(), "speed": speed(json.loads(source.read_text())["rows"])}
    for name, text in pictures.items():
        (ROOT / "docs" / f"{name}.svg").write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
