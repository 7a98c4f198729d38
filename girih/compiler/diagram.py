"""A picture of a fused graph, as SVG: ``options={"graph_diagram": True}``.

A box is a kernel, a call of a library, a view, or an input or result of the program. An
arrow is a tensor that goes from one to the other. Boxes lie in layers: each below all
that it reads, and what depends on inputs alone just above its first use.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from xml.sax.saxutils import escape

from girih.compiler.modules import functions_of
from girih.dialects import keys
from girih.dialects.bindings import ir
from girih.passes.convert_graph_to_host.externs.rules import rule_for
from girih.passes.convert_graph_to_host.kernel_ops import runs_in_kernel
from girih.passes.convert_graph_to_host.plan import VIEWS

_LETTER, _LINE, _MARGIN = 7.3, 16, 24
_GAP, _RISE = 22, 46
_SWEEPS = 4
_LONGEST = 44
"""Letters of a line; the tooltip of the box has all of them."""

_TYPE = ' class="type"'
_HIDDEN = ("graph.constant", "graph.yield")
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

_STYLE = """
svg { --text: #1c2024; --quiet: #5b6470; --back: #ffffff; --line: #7b8794;
  --kernel: #dbeafe; --operation: #fff1c2; --end: #f0f2f5; }
@media (prefers-color-scheme: dark) {
  svg { --text: #e2e6ea; --quiet: #a5b0bb; --back: #14171a; --line: #7b8794;
    --kernel: #1d3a5f; --operation: #4b3d0c; --end: #262c33; }
}
.back { fill: var(--back); }
text { font: 12px ui-monospace, monospace; fill: var(--text); text-anchor: middle; }
.type { fill: var(--quiet); }
rect { stroke: var(--line); }
.kernel { fill: var(--kernel); }
.library, .operation { fill: var(--operation); }
.view { fill: var(--end); }
.input, .result { fill: var(--end); stroke-dasharray: 4 3; }
.arrow { fill: none; stroke: var(--line); }
marker path { fill: var(--line); }
"""


@dataclass(eq=False)
class _Box:
    """A box, or a place where an arrow passes a layer.

    Attributes:
        kind: As `_kind` says, "input" or "result"; "" for an arrow.
        lines: Its name, and the types of its results.
        reads: The boxes whose results it takes.
    """

    kind: str = ""
    lines: list[str] = field(default_factory=list)
    reads: list[_Box] = field(default_factory=list)
    layer: int = 0
    x: float = 0.0
    y: float = 0.0

    @property
    def width(self) -> float:
        longest = max((len(_cut(line)) for line in self.lines), default=0)
        return longest * _LETTER + 18 if self.kind else 10

    @property
    def height(self) -> float:
        return len(self.lines) * _LINE + 10


def diagram(module: ir.Module) -> str:
    """The function ``@main`` of a fused module as the text of an SVG file."""
    boxes = _boxes(module)
    layers = _layers(boxes)
    _order(layers)
    width, height = _place(layers)
    arrows = [
        _arrow(source, box) for row in layers for box in row for source in box.reads
    ]
    shown = [_shown(box) for box in boxes]
    size = f'width="{width:.0f}" height="{height:.0f}"'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} '
            f'viewBox="0 0 {width:.0f} {height:.0f}">',
            f"<style>{_STYLE}</style>",
            '<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" '
            'markerWidth="7" markerHeight="7" orient="auto">'
            '<path d="M0,0 L8,4 L0,8 z"/></marker></defs>',
            f'<rect class="back" {size} stroke="none"/>',
            *arrows,
            *shown,
            "</svg>\n",
        ]
    )


# What there is ----------------------------------------------------------------------


def _boxes(module: ir.Module) -> list[_Box]:
    function = functions_of(module)["main"]
    (block,) = function.regions[0].blocks
    made: dict[ir.Value, _Box] = {}
    boxes = []
    for index, argument in enumerate(block.arguments):
        given = function.arg_attrs[index]
        name = f"arg{index}"
        if keys.NAME in given:
            name = ir.StringAttr(given[keys.NAME]).value
        box = made[argument] = _Box("input", [name, _type(argument)])
        boxes.append(box)
    results = []
    for op in block.operations:
        reads = list(dict.fromkeys(made[v] for v in op.operands if v in made))
        if op.operation.name in _HIDDEN:
            continue
        if op.operation.name in ("return", "func.return"):
            for index, value in enumerate(op.operands):
                source = [made[value]] if value in made else []
                text = [f"result {index}", _type(value)]
                results.append(_Box("result", text, source))
            continue
        box = _Box(_kind(op), [_name(op), *map(_type, op.results)], reads)
        made.update((result, box) for result in op.results)
        boxes.append(box)
    return boxes + results


def _kind(op: ir.OpView) -> str:
    """What an operation becomes; of products later passes may make kernels."""
    name = op.operation.name
    if name in VIEWS:
        return "view"
    if runs_in_kernel(op):
        return "kernel"
    return "library call" if rule_for(name) is not None else "operation"


def _name(op: ir.OpView) -> str:
    """What a kernel computes, or the operation's own name."""
    if op.operation.name != "graph.fusion":
        called = op.attributes["op"] if "op" in op.attributes else None
        return str(called).strip('"') if called else _plain(op)
    inside = [
        _plain(inner)
        for region in op.operation.regions
        for block in region.blocks
        for inner in block.operations
        if inner.operation.name not in _HIDDEN
    ]
    return ", ".join(inside) or "copy"


def _plain(op: ir.OpView) -> str:
    return op.operation.name.removeprefix("graph.")


def _type(value: ir.Value) -> str:
    text = str(value.type)
    return text.removeprefix("tensor<").removesuffix(">")


# Where it lies ----------------------------------------------------------------------


def _layers(boxes: list[_Box]) -> list[list[_Box]]:
    """The boxes by layer, with a place in each layer that an arrow passes."""
    for box in boxes:  # each comes after what it reads
        box.layer = 1 + max((source.layer for source in box.reads), default=0)
    readers: dict[_Box, list[_Box]] = {}
    for box in boxes:
        for source in box.reads:
            readers.setdefault(source, []).append(box)
    for box in reversed(boxes):  # what depends on inputs alone lies near its use
        if box in readers and all(source.kind == "input" for source in box.reads):
            box.layer = min(reader.layer for reader in readers[box]) - 1
        elif box.kind == "input":
            box.layer = 0
    count = 1 + max((box.layer for box in boxes), default=0)
    layers: list[list[_Box]] = [[] for _ in range(count)]
    for box in boxes:
        layers[box.layer].append(box)
    passing: dict[tuple[_Box, int], _Box] = {}
    for box in boxes:
        for index, source in enumerate(box.reads):
            last = source
            for layer in range(source.layer + 1, box.layer):
                point = passing.get((source, layer))
                if point is None:
                    point = _Box(reads=[last], layer=layer)
                    passing[source, layer] = point
                    layers[layer].append(point)
                last = point
            box.reads[index] = last
    return [row for row in layers if row]


def _order(layers: list[list[_Box]]) -> None:
    """Orders each layer by the middle of what its boxes read, and what reads them."""
    read_by: dict[_Box, list[_Box]] = {}
    for row in layers:
        for box in row:
            for source in box.reads:
                read_by.setdefault(source, []).append(box)
    for sweep in range(_SWEEPS):
        is_down = sweep % 2 == 0
        for row in layers:
            for index, box in enumerate(row):
                box.x = index / len(row)
        for row in layers if is_down else reversed(layers):
            near = {b: b.reads if is_down else read_by.get(b, []) for b in row}
            means = {
                b: sum(n.x for n in near[b]) / len(near[b]) if near[b] else b.x
                for b in row
            }
            row.sort(key=means.__getitem__)
            for index, box in enumerate(row):
                box.x = index / len(row)


def _place(layers: list[list[_Box]]) -> tuple[float, float]:
    """Gives each box its middle and its upper edge; the size of the picture."""
    wide = [sum(b.width for b in row) + _GAP * (len(row) - 1) for row in layers]
    width = max(wide, default=0) + 2 * _MARGIN
    y: float = _MARGIN
    for row, taken in zip(layers, wide, strict=True):
        x = (width - taken) / 2
        tallest = max(box.height for box in row)
        for box in row:
            box.x, box.y = x + box.width / 2, y
            x += box.width + _GAP
            if not box.kind:
                box.y += tallest / 2
        y += tallest + _RISE
    return width, y - _RISE + _MARGIN


# How it is drawn --------------------------------------------------------------------


def _arrow(source: _Box, box: _Box) -> str:
    start = source.y + (source.height if source.kind else 0)
    middle = (start + box.y) / 2
    tip = ' marker-end="url(#tip)"' if box.kind else ""
    path = (
        f"M{source.x:.1f},{start:.1f} C{source.x:.1f},{middle:.1f} "
        f"{box.x:.1f},{middle:.1f} {box.x:.1f},{box.y:.1f}"
    )
    return f'<path class="arrow" d="{path}"{tip}/>'


def _shown(box: _Box) -> str:
    left = box.x - box.width / 2
    texts = [
        f'<text x="{box.x:.1f}" y="{box.y + _LINE * (number + 1):.1f}"'
        f"{_TYPE if number else ''}>{_escaped(_cut(line))}</text>"
        for number, line in enumerate(box.lines)
    ]
    title = _escaped("\n".join([box.kind, *box.lines]))
    return (
        f"<g><title>{title}</title>"
        f'<rect class="{box.kind}" x="{left:.1f}" y="{box.y:.1f}" rx="5" '
        f'width="{box.width:.1f}" height="{box.height:.1f}"/>{"".join(texts)}</g>'
    )


def _cut(line: str) -> str:
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"


def _escaped(text: str) -> str:
    """Text in XML, which has no place for some characters."""
    return escape(_NOT_XML.sub("\ufffd", text))
