"""The benchmark of GPUs, as far as it runs on a processor."""

import json

import pytest
import torch

from benchmarks.gpu import __main__ as command
from benchmarks.gpu import engines, kernels, model_runs, overhead, report, supervisor
from benchmarks.gpu.attempts import Attempts
from benchmarks.gpu.cases import CASES, by_name
from benchmarks.gpu.models import MODELS

CPU = torch.device("cpu")
BOTH = ("eager", "girih")

# Dies on the engine "girih" of case "b", and before any engine of case "c".
DYING_WORKER = """
import json, os, sys
from benchmarks.gpu import worker
options = worker.parser().parse_args()
for name in options.names:
    worker.send(case=name, engine="")
    if name == "c":
        sys.exit("no such size")
    failures = options.failures.get(name, {})
    for engine in options.engines.split(","):
        if engine not in failures:
            worker.send(case=name, engine=engine)
            if (name, engine) == ("b", "girih"):
                print("about to die", file=sys.stderr, flush=True)
                os._exit(9)
    worker.send(row={"case": name, "failures": failures})
"""


@pytest.fixture(autouse=True)
def _no_fallback(monkeypatch):
    monkeypatch.setenv("GIRIH_FALLBACK", "0")


@pytest.mark.parametrize(
    "name", ["layer-norm", "cross-entropy-training", "capped-attention-training"]
)
def test_row_of_a_kernel(name):
    (case,) = by_name([name])
    attempts = Attempts(BOTH)
    row = kernels.run_case(case.small(), CPU, attempts, quick=True, mode="default")
    assert not row["failures"]
    assert set(row["seconds"]) == {"eager", "girih", "copy"}
    assert row["bytes"] > 0 and json.dumps(row)
    assert name in report.kernels_table([row])


def test_row_of_a_call():
    name = "mm + 3, grad, default"
    row = overhead.run_case(name, CPU, Attempts(BOTH), quick=True)
    assert not row["failures"] and set(row["seconds"]) == set(BOTH)
    assert name in report.overhead_table([row])


@pytest.mark.parametrize("name", ["gpt2 training", "resnet-50 inference"])
def test_row_of_a_model(name):
    settings = {"quick": True, "mode": "default", "small": True}
    row = model_runs.time_steps(name, CPU, Attempts(BOTH), **settings)
    assert not row["failures"] and set(row["errors"]) == set(BOTH)
    assert report.models_table([row]).count(name) == 2


def test_names_are_unique_and_checked(capsys):
    assert len({case.name for case in CASES}) == len(CASES)
    with pytest.raises(SystemExit):
        command.parse(["--cases", "nothing"])
    assert "known: silu-mul" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        command.parse(["--models", "nothing"])
    assert f"known: {', '.join(MODELS)}" in capsys.readouterr().err


def test_an_engine_that_fails_is_part_of_the_row():
    def broken(x):
        raise ValueError("no such thing")

    attempts = Attempts(BOTH)
    for engine in attempts.engines(first=("girih",)):
        with attempts.of(engine):
            engines.compile_with(engine, broken)(torch.ones(2))
    assert list(attempts.failures) == ["girih", "eager"]
    assert "no such thing" in attempts.row(case="x")["failures"]["eager"]
    assert list(attempts.engines()) == []


def test_a_worker_that_dies_is_replaced(tmp_path, monkeypatch):
    (tmp_path / "dying_worker.py").write_text(DYING_WORKER)
    monkeypatch.setattr(supervisor, "WORKER", "dying_worker")
    settings = supervisor.Settings("cpu")
    environment = {"PYTHONPATH": f"{tmp_path}:{supervisor.ROOT}"}
    rows = list(supervisor.rows("kernels", list("abcd"), settings, environment))
    assert [row["case"] for row in rows] == list("abcd")
    assert rows[0]["failures"] == rows[3]["failures"] == {}
    assert "about to die" in rows[1]["failures"]["girih"]
    assert "no such size" in rows[2]["failures"][""]


def test_a_worker_that_says_nothing_is_ended(tmp_path, monkeypatch):
    (tmp_path / "silent_worker.py").write_text("import time; time.sleep(60)")
    monkeypatch.setattr(supervisor, "WORKER", "silent_worker")
    settings = supervisor.Settings("cpu", silence=0.5)
    (row,) = supervisor.rows("kernels", ["a"], settings, {"PYTHONPATH": str(tmp_path)})
    assert "no answer within" in row["failures"][""]


def test_what_is_done_is_not_measured_again(tmp_path, monkeypatch):
    asked = []

    def rows(part, names, settings, environment):
        asked.extend(names)
        return [{"case": name, "failures": {}} for name in names]

    monkeypatch.setattr(supervisor, "rows", rows)
    common = ["--device", "cpu", "--output", str(tmp_path / "x"), "--parts", "kernels"]
    command.main([*common, "--cases", "softmax"])
    command.main([*common, "--cases", "softmax,row-sum", "--resume"])
    assert asked == ["softmax", "row-sum"]
    found = json.loads((tmp_path / "x.json").read_text())["rows"]
    assert [row["case"] for row in found] == asked


def test_summary_names_what_misses_its_goal():
    kernel = {
        "case": "slow",
        "limit": "memory",
        "seconds": {"eager": 4.0, "inductor": 1.0, "girih": 2.0, "copy": 1.0},
        "failures": {},
    }
    model = {
        "case": "net",
        "seconds": {"eager": 1.0, "inductor": 1.0, "girih": 2.0},
        "peak_bytes": {"inductor": 100, "girih": 110},
        "compile_seconds": {"inductor": 10.0, "girih": 6.0},
        "failures": {"inductor": "ValueError: no\nsuch thing"},
    }
    text = report.summary({"kernels": [kernel], "models": [model]})
    for line in (
        "- kernels: girih over inductor: geometric mean 0.50, lowest 0.50, of 1",
        "- slow: 0.50 of a copy's speed",
        "- slow: 0.50 of Inductor's speed",
        "- net: 0.50 of eager's speed",
        "- net: 1.10 of Inductor's memory",
        "- net: 0.60 of Inductor's compile time",
        "- FAILED: net, inductor: ValueError: no such thing",
    ):
        assert line in text.splitlines()
