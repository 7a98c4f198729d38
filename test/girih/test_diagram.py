"""graph_diagram: a picture of each program after fusion lies beside its IR."""

from xml.etree import ElementTree

import pytest
import torch

import girih
from girih.compiler import diagram

SVG = "{http://www.w3.org/2000/svg}"


def pictures(folder):
    return sorted(folder.rglob("graph.svg"))


def boxes(path):
    """The lines of each box's tooltip: its kind, its name, the types of its results."""
    root = ElementTree.parse(path).getroot()
    return [title.text.split("\n") for title in root.iter(f"{SVG}title")]


def program(x, w):
    y = (x @ w).relu()
    return torch.softmax(x.sin() @ w, -1), torch.sort(y, dim=1)[0]


def drawn(folder, function, *arguments, **options):
    options = {"dump_dir": str(folder), "cache": False, **options}
    compiled = girih.compile(function, options=options)
    return compiled(*arguments)


@pytest.mark.parametrize("option", ["graph_diagram", "trace.graph_diagram"])
def test_kernels_and_operations_are_boxes(tmp_path, option):
    x, w = torch.randn(5, 8), torch.randn(8, 8)
    drawn(tmp_path, program, x, w, **{option: True})
    (path,) = pictures(tmp_path)
    found = boxes(path)
    assert ["input", "x", "5x8xf32"] in found
    assert ["kernel", "sin", "5x8xf32"] in found
    assert ["library call", "sort", "5x8xf32", "5x8xi64"] in found
    assert ["library call", "mm", "5x8xf32"] in found
    assert [box[0] for box in found].count("result") == 2
    (softmax,) = [box for box in found if "reduce_max" in box[1]]
    assert softmax[0] == "kernel" and "exp" in softmax[1]


def test_views_are_boxes_of_their_own(tmp_path):
    drawn(
        tmp_path,
        lambda x: torch.sort(x.sin())[0].t(),
        torch.ones(3, 4),
        graph_diagram=True,
    )
    kinds = [box[0] for box in boxes(pictures(tmp_path)[0])]
    assert kinds == ["input", "kernel", "library call", "view", "result"]


def test_boxes_of_a_layer_are_apart(tmp_path):
    def many(x, *others):
        for other in others:
            x = torch.sort(x + other)[0].cos()
        return x, x @ others[0]

    given = [torch.randn(6, 6) for _ in range(5)]
    drawn(tmp_path, many, *given, graph_diagram=True)
    root = ElementTree.parse(pictures(tmp_path)[0]).getroot()
    width, height = float(root.get("width")), float(root.get("height"))
    rows = {}
    for rect in root.iter(f"{SVG}rect"):
        if rect.get("class") == "back":
            continue
        left, top = float(rect.get("x")), float(rect.get("y"))
        right = left + float(rect.get("width"))
        assert 0 < left < right < width
        assert 0 < top < top + float(rect.get("height")) < height
        rows.setdefault(top, []).append((left, right))
    assert len(rows) > 10
    for row in rows.values():
        row.sort()
        assert all(a[1] < b[0] for a, b in zip(row, row[1:], strict=False))


def test_each_program_of_training_has_one(tmp_path):
    x = torch.randn(4, 4, requires_grad=True)
    drawn(tmp_path, torch.sin, x, graph_diagram=True).sum().backward()
    assert len(pictures(tmp_path)) == 2


def test_any_name_is_xml():
    box = diagram._Box("input", ["a<b>&\"'\x00\x1b\ud800" + "é" * 99])
    (title, _, text) = ElementTree.fromstring(diagram._shown(box))
    assert title.text.startswith("input\na<b>&\"'\ufffd\ufffd\ufffdé")
    assert len(text.text) == diagram._LONGEST


def test_nothing_is_drawn_without_the_option_or_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    drawn(tmp_path, torch.sin, torch.ones(3))
    girih.compile(torch.cos, options={"graph_diagram": True})(torch.ones(3))
    assert pictures(tmp_path) == []
