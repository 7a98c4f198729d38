"""The benchmark runner itself: checks, statistics, tables, plots, options."""

import json
import math
import time
from xml.etree import ElementTree as ET

import pytest
import torch

from benchmarks import (
    agreement,
    capture,
    curves,
    guard_cost,
    kernels,
    measure,
    memory,
    optimizers,
    plot,
    results,
    training,
)
from benchmarks.cases import CASES, IN_CACHE, OUT_OF_CACHE, select
from examples import digits

CACHE_BYTES = 2**20
LAST_CACHE_BYTES = 2**25


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_sizes_of_cases(case):
    def total(where):
        inputs = case.make_inputs(where, torch.float32)
        return sum(x.numel() * x.element_size() for x in inputs)

    assert total(IN_CACHE) <= 2 * CACHE_BYTES
    assert total(OUT_OF_CACHE) > LAST_CACHE_BYTES


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@pytest.mark.parametrize("dtype", kernels.DTYPES.values(), ids=kernels.DTYPES)
def test_eager_agrees_with_its_reference(case, dtype):
    inputs = case.make_inputs(IN_CACHE, dtype)
    expected = agreement.reference(case.function, inputs)
    agreement.check(case.name, case.function(*inputs), expected, dtype)


def test_wrong_results_are_noticed():
    x = torch.ones(4)
    for wrong in (x * 1.01, x[:3], torch.tensor([1, 1, 1, math.nan])):
        with pytest.raises(agreement.Disagreement):
            agreement.check("wrong", wrong, x, torch.float32)
    with pytest.raises(agreement.Disagreement):
        agreement.check("too many", [x, x], [x], torch.float32)


def test_measure_tells_slow_from_fast():
    timings = measure.measure(
        {"slow": lambda: time.sleep(4e-3), "fast": lambda: None}, seconds=0.1
    )
    assert timings["slow"].median > 4e-3 > timings["fast"].median
    assert timings["slow"].minimum <= timings["slow"].median


def test_table_and_numbers():
    assert results.geometric_mean([0.5, 2.0, 8.0]) == pytest.approx(2.0)
    texts = [results.seconds_text(s) for s in (2.5, 0.0315, 4.2e-6, 3e-7)]
    assert texts == ["2.50 s", "31.5 ms", "4.20 us", "0.30 us"]
    text = results.table(["name", "time"], [["a", "1.5"], ["long name", "10.25"]])
    assert text.splitlines() == [
        "| name      |  time |",
        "| --------- | ----: |",
        "| a         |   1.5 |",
        "| long name | 10.25 |",
    ]


def test_plot_is_wellformed_and_holds_every_bar():
    bars = {"<case & one>": {"inductor": 0.5, "girih": 2.0}, "two": {"girih": 9.0}}
    root = ET.fromstring(plot.bar_panels("title", {"panel": bars}))
    texts = [element.text for element in root.iter() if element.tag.endswith("text")]
    for text in ("title", "panel", "<case & one>", "0.50", "2.00", "9.00"):
        assert text in texts


def test_curves_are_wellformed_and_hold_every_step():
    series = {"eager": [2.0, 0.5, 0.02], "girih": [2.0, math.nan, 0.02]}
    root = ET.fromstring(curves.curves("title", series, "step"))
    lines = [e.get("points") for e in root.iter() if e.tag.endswith("polyline")]
    assert [len(points.split()) for points in lines] == [3, 2]
    texts = [element.text for element in root.iter() if element.tag.endswith("text")]
    assert {"title", "eager", "girih", "0.01", "10", "step"} <= set(texts)


def test_peak_memory_of_a_function():
    size = 2**26
    # Memory that the process has freed but not given back may be used again.
    peak = memory.peak_of(lambda: torch.ones(size // 4))
    assert 0.9 * size <= peak < 1.5 * size


def test_table_of_trainings():
    seconds = {"eager": 3.0, "inductor": 2.0, "girih": 1.5}
    sizes, differences = dict.fromkeys(seconds, 2**21), dict.fromkeys(seconds, 0.0)
    row = training.Row("net", seconds, sizes, seconds, differences)
    _, _, eager, _, girih = training.text_table([row]).splitlines()
    assert "2.0 MiB" in eager and "3.00 s" in eager
    assert "2.00" in girih and "1.33" in girih


def test_json_holds_the_environment(tmp_path):
    stem = tmp_path / "deep" / "rows"
    results.write(stem, [{"case": "x"}], "| table |")
    assert stem.with_suffix(".md").read_text() == "| table |\n"
    content = json.loads(stem.with_suffix(".json").read_text())
    assert content["rows"] == [{"case": "x"}]
    assert content["environment"]["torch"] == torch.__version__


def test_unknown_case_lists_known_ones(capsys):
    with pytest.raises(ValueError, match="known: silu-mul"):
        select(["silu-mull"])
    with pytest.raises(SystemExit):
        kernels.main(["--cases", "nothing"])
    assert "known: silu-mul" in capsys.readouterr().err


def test_summary_names_slow_cases():
    seconds = {"eager": 1.0, "inductor": 0.5, "girih": 1.0}
    text = kernels.summary([kernels.Row("a", "in cache", "float32", seconds, {})])
    assert "geometric mean 0.50" in text
    assert "under 0.7 of Inductor: a, in cache, float32: 0.50" in text


def test_tables_of_captures():
    seconds = {"TorchDynamo": [2.0, 3.0, 4.0], "girih": [0.5, 0.75, 0.5]}
    text = capture.captures_table([capture.Row("net", seconds, seconds, {})])
    assert "| net   | cold    |      3.00 s | 500 ms |          6.0 |" in text
    timing = measure.Timing(2e-6, 1e-6, 7)
    engines = ("plain", "TorchDynamo", "girih")
    row = guard_cost.Row("call", dict.fromkeys(engines, timing))
    assert "2.00 us (1.00)" in capture.calls_table([row]).splitlines()[-1]


def test_captured_code_that_does_nothing():
    row = guard_cost.measure_case("two tensors, no work", quick=True)
    girih, dynamo = row.timings["girih"], row.timings["TorchDynamo"]
    assert girih.minimum < dynamo.minimum


def test_unknown_model_lists_known_ones(capsys):
    with pytest.raises(SystemExit):
        capture.main(["--models", "nothing"])
    assert "known: gpt2" in capsys.readouterr().err


def test_shapes_of_optimized_parameters():
    shapes = optimizers.gpt2_shapes()
    assert (len(shapes), sum(map(math.prod, shapes))) == (148, 124_439_808)
    model = digits.VisionTransformer()
    actual = sorted(tuple(parameter.shape) for parameter in model.parameters())
    assert sorted(optimizers.digits_shapes()) == actual


def test_optimizers_agree():
    case = optimizers.Case("small", "AdamW", [(3, 4), (5,)], is_clipped=True)
    results = []
    for name in ("for-loop", "girih"):
        parameters = optimizers.make_parameters(case.shapes)
        step = optimizers.make_step(case, parameters, optimizers.ENGINES[name])
        for _ in range(3):
            step()
        results.append([parameter.detach() for parameter in parameters])
    agreement.check(case.name, results[1], results[0], torch.float32)
