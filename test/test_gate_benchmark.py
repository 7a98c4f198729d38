"""The benchmark of hand-written kernels' sweeps, as far as it runs on a processor."""

import json

import pytest
import torch

from benchmarks import agreement
from benchmarks.gate import __main__ as command
from benchmarks.gate import report, timing
from benchmarks.gate.sweeps import FLOAT8, SWEEPS, Case, by_name, select
from benchmarks.gpu.attempts import Attempts

CPU = torch.device("cpu")
BOTH = ("eager", "girih")


@pytest.fixture(autouse=True)
def _no_fallback(monkeypatch):
    monkeypatch.setenv("GIRIH_FALLBACK", "0")


@pytest.mark.parametrize("sweep", SWEEPS, ids=lambda sweep: sweep.name)
def test_row_of_a_sweep(sweep):
    small = sweep.small()
    row = timing.run_case(Case(small, small.shapes[0]), CPU, Attempts(BOTH), quick=True)
    assert not row["failures"] and json.dumps(row)
    assert set(row["seconds"]) == {"eager", "girih", "copy"} and row["bytes"] > 0
    text = report.text_of([row])
    assert text.count(sweep.name) == 2 and f"{sweep.helion:.2f}" in text


def test_shapes():
    cases = list(select())
    assert len({case.name for case in cases}) == len(cases) == 394
    assert [case.name for case in select(["rope"], 3)] == [
        "rope 8192x1024",
        "rope 8192x8192",
        "rope 2048x2048",
    ]
    assert all(by_name(case.name) == case for case in cases)
    with pytest.raises(ValueError, match="known: vector-add, softmax"):
        list(select(["nothing"]))


def test_bytes_leave_out_what_is_looked_up():
    row = timing.run_case(by_name("qk-norm-rope 1x16x8"), CPU, Attempts(BOTH), quick=1)
    heads = 24 * 128 * 2
    assert row["bytes"] == 3 * heads + 8


def test_command(tmp_path, capsys):
    stem = tmp_path / "gate"
    flags = "--device cpu --small --quick --engines eager,girih --sweeps softmax,rope"
    flags += " --compile-ahead 2"
    assert command.main([*flags.split(), "--output", str(stem)]) == 0
    found = json.loads(stem.with_suffix(".json").read_text())
    assert [row["sweep"] for row in found["rows"]] == ["softmax", "rope"]
    assert "Geometric mean of the sweeps" in capsys.readouterr().out
    for wrong in ("--sweeps nothing", "--every 0", "--engines tvm"):
        with pytest.raises(SystemExit):
            command.main(wrong.split())


def test_results_are_held_against_eagers():
    x = torch.linspace(-3, 3, 500).to(torch.bfloat16)
    timing.check([x], [x])
    with pytest.raises(agreement.Disagreement, match="differs by"):
        timing.check([x + 0.5], [x])
    with pytest.raises(agreement.Disagreement, match="expected"):
        timing.check([x.float()], [x])
    narrow = x.to(FLOAT8)
    timing.check([narrow], [narrow])
    with pytest.raises(agreement.Disagreement, match="steps of float8"):
        timing.check([(x / 100).to(FLOAT8)], [(-x / 100).to(FLOAT8)])
    for count in (20, 50):
        bits = narrow.view(torch.uint8).clone()
        bits[:count] -= 1
        other = bits.view(FLOAT8)
        if count == 20:
            timing.check([other], [narrow])
        else:
            with pytest.raises(agreement.Disagreement, match="of the elements differ"):
                timing.check([other], [narrow])


def test_a_rounding_of_an_intermediate_is_allowed_after_16_bit_operands():
    x = torch.linspace(1, 2, 50)
    other = x * (1 + 2**-9)
    timing.check([other], [x], [x.to(torch.bfloat16)])
    with pytest.raises(agreement.Disagreement, match="differs by"):
        timing.check([other], [x], [x])
