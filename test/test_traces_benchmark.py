"""The benchmark of traces: what has a name, and the picture."""

import json
from types import SimpleNamespace
from xml.etree import ElementTree as ET

import pytest

from benchmarks import traces


def _event(start, end):
    return SimpleNamespace(time_range=SimpleNamespace(start=start, end=end))


@pytest.mark.parametrize(
    ("ranges", "expected"),
    [
        ([], 0),
        ([(0, 3), (5, 6)], 4),
        ([(0, 3), (1, 2), (2, 5)], 5),
        ([(4, 6), (0, 1), (0, 5)], 6),
    ],
)
def test_time_that_events_cover(ranges, expected):
    assert traces.covered(_event(*each) for each in ranges) == expected


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("girih::k0_add_sum", "a kernel of girih"),
        ("girih::aten.mm.default", "a library call"),
        ("aten::mm", "a library call"),
        ("girih::graph0.backward", traces.FRAME),
        ("CompiledFunctionBackward", traces.FRAME),
        (traces.STEP, traces.FRAME),
    ],
)
def test_kinds_of_events(name, kind):
    assert traces.kind_of(name) == kind


def test_a_step_and_its_files(tmp_path):
    picture, numbers = tmp_path / "trace.svg", tmp_path / "rows.json"
    trace = tmp_path / "trace.json"
    files = ["--svg", str(picture), "--json", str(numbers), "--trace", str(trace)]
    assert traces.main(["--case", "digits", *files]) == 0
    (row,) = json.loads(numbers.read_text())
    assert row["case"] == "digits" and row["ms"] > 0 and 0.3 < row["named"] <= 1
    assert ET.parse(picture).getroot().tag.endswith("svg")
    names = {
        event.get("name") for event in json.loads(trace.read_text())["traceEvents"]
    }
    assert any(name.startswith("girih::k") for name in names if name)
