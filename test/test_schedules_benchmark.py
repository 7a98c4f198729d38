"""The benchmark of schedules: which are tried, that they are taken, and the table."""

import json
import re
import subprocess
import sys

import pytest
import torch
from emulated_device import RecordingDevice, emulated_device

import girih
from benchmarks.schedules import __main__ as command
from benchmarks.schedules.children import Task, compiled
from benchmarks.schedules.kernels import SETTINGS, kernels

KERNELS = kernels()


def test_kinds_have_schedules():
    assert {kernel.kind for kernel in KERNELS.values()} == set(SETTINGS)
    assert len(KERNELS) >= 90


def test_unknown_names_are_errors(capsys):
    for given in (["--kernels", "fft"], ["--kinds", "rows"], ["--engines", "eager"]):
        with pytest.raises(SystemExit):
            command.parse(given)
    assert "no kernel has such a name" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "settings", "expected"),
    [
        ("gelu 2048 bf16", {"elements": 256, "warps": 4}, "blocks of 256.* 4 warps"),
        (
            "rms-norm 8192x1000 f16",
            {"elements": 2048, "warps": 8},
            "2 along .* 8 warps",
        ),
        ("softmax 64x65536 f32", {"held": 0, "elements": 512, "warps": 2}, "512.*loop"),
        ("softmax 64x65536 f32", {"held": 1, "warps": 32}, "65536 along .* 32 warps"),
    ],
)
def test_schedules_are_those_of_the_settings(name, settings, expected, monkeypatch):
    modules = []

    def collecting(function, *, options, **given):
        options["passes"]["after:tile"] = lambda module: modules.append(str(module))
        return plain(function, options=options, **given)

    plain, kernel = girih.compile, KERNELS[name]
    monkeypatch.setattr(girih, "compile", collecting)
    with emulated_device(RecordingDevice) as device, torch.no_grad():
        function = compiled(Task(kernel, "girih", settings))
        kernel.call(function, kernel.inputs(torch.device("cpu")))()
        device.failure = None
    (schedule,) = re.findall('schedule = "(.*?)"', "".join(modules))
    assert re.search(expected, schedule)


def test_a_run_and_its_table(tmp_path):
    # In a process of its own, which has no threads yet when it forks.
    command = [sys.executable, "-m", "benchmarks.schedules", "--device", "cpu"]
    command += ["--quick", "--kernels", "gelu 2048", "--engines", "girih,copy"]
    command += ["--output", str(tmp_path / "found")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    rows = json.loads((tmp_path / "found.json").read_text())["rows"]
    assert len(rows) == 2 + len(SETTINGS["points"])
    assert all(row["seconds"] > 0 and row["difference"] < 1e-2 for row in rows)
    assert "elements=" in done.stdout
