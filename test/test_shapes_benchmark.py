"""The benchmark of drawn programs, as far as it runs on a processor."""

import json

import extent
import pytest
import torch

from benchmarks import agreement
from benchmarks.gate import timing
from benchmarks.gpu import engines
from benchmarks.shapes import __main__ as command
from benchmarks.shapes import cases, report
from benchmarks.shapes.draw import Draw
from benchmarks.shapes.kinds import KINDS

CPU = torch.device("cpu")


@pytest.mark.parametrize("name", [name for (name,) in extent.spread(KINDS, every=4)])
def test_kind(name, monkeypatch):
    """A small program of the kind gives eager's results, and runs compiled."""
    monkeypatch.setenv("GIRIH_FALLBACK", "0")
    case = cases.small(KINDS[name])
    inputs = case.make_inputs(CPU)
    with torch.no_grad():
        expected = agreement.flatten(case.bind(case.sweep.function, inputs)())
        compiled = engines.compile_with("girih", case.sweep.function)
        actual = agreement.flatten(case.bind(compiled, inputs)())
    timing.check(actual, expected, inputs)
    engines.check_compiled("girih", compiled)


def test_programs_are_the_same_ones_each_time():
    drawn = list(cases.select("cuda", 300))
    assert len({case.name for case in drawn}) == 300
    assert {case.sweep.name for case in drawn} == set(KINDS)
    assert 30 < sum(case.is_trained for case in drawn) < 100
    again = cases.by_name(drawn[17].name, "cuda")
    assert again.name == drawn[17].name and again.shape == drawn[17].shape
    assert all(x.numel() <= 2**24 for x in drawn[17].make_inputs(CPU))
    assert [c.sweep.name for c in cases.select("cpu", 71, kinds=["rms-norm"])]
    with pytest.raises(ValueError, match="known: layer-norm"):
        list(cases.select("cpu", 3, kinds=["nothing"]))


def test_a_step_of_an_optimizer_is_defined_in_float16():
    """Eager is what engines are compared with, so it must not divide 0 by 0."""
    moment = torch.full((4,), 2e-5, dtype=torch.float16)
    weight, _ = KINDS["adam-update"].function(moment * 0, moment, moment)
    torch.testing.assert_close(weight, torch.full_like(weight, -1e-3))


def test_sizes_stay_below_the_limit():
    for number in range(300):
        assert Draw(number, 1 << 12).rows(1 << 11) <= 2
        batch, channels, high, wide = Draw(number, 1 << 12).images()
        assert batch * channels * high * wide <= 1 << 12


def test_command(tmp_path, capsys):
    stem = tmp_path / "shapes"
    flags = "--count 72 --quick --kinds layer-norm --engines eager,girih"
    assert command.main([*flags.split(), "--output", str(stem)]) == 0
    rows = json.loads(stem.with_suffix(".json").read_text())["rows"]
    assert [row["sweep"] for row in rows] == ["layer-norm", "layer-norm"]
    for wrong in ("--kinds nothing", "--engines tvm", "--device tpu"):
        with pytest.raises(SystemExit):
            command.parse(wrong.split())
    capsys.readouterr()


def test_report():
    def row(name, kind, eager, inductor, girih):
        seconds = {"eager": eager, "inductor": inductor, "girih": girih, "copy": 1e-6}
        return {"case": name, "sweep": kind, "seconds": seconds, "failures": {}}

    rows = [row("0 a", "a", 4e-6, 2e-6, 1e-6), row("1 b", "b", 4e-6, 1e-6, 2e-6)]
    rows.append({"case": "2 c", "failures": {"girih": "Error: it\nfails"}})
    text = report.text_of(rows)
    assert "2 programs." in text and "geometric mean 1.00" in text
    assert "worst 0.50; 1 below 0.95" in text
    assert "- FAILED: 2 c, girih: Error: it fails" in text
    assert text.index("| b ") < text.index("| a ")
    assert report.text_of(rows[2:]).startswith("- FAILED")
