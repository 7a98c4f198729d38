"""What ``make fuzz-programs`` calls wrong, and what it does not."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from extent import IS_LONG
from random_modules.judgement import _floats_differ, judge
from random_modules.program import Input, Line, Program

HERE = Path(__file__).parent


def test_a_sign_that_rounding_decides_may_be_another_one():
    # A norm of equal numbers is zero but for rounding.
    options = "1, groups=1, bias=False, dtype=torch.float64"
    tie = Program(
        seed=300314,
        fields=(
            ("m0", f"nn.Conv1d(4, 1, 3, 2, {options})"),
            ("m3", f"nn.ConvTranspose1d(1, 4, 2, 1, {options})"),
            ("m4", "nn.BatchNorm1d(4, dtype=torch.float64)"),
        ),
        inputs=(Input("x0", "tensor((4, n), torch.float64, 82)"),),
        lines=(
            Line("v0", "torch.stack((x0, x0), 0)"),
            Line("v1", "self.m4(self.m3(self.m0(v0)))"),
            Line("v2", "F.relu(v1, inplace=True)"),
        ),
        results=("v2",),
        sizes=(4,),
    )
    assert not judge(tie).is_failure


def test_only_what_jumps_in_eager_may_jump():
    exact = torch.tensor([0.0, 1.0, 2.0], dtype=torch.float64)
    noisy = [torch.tensor([x, 1.0, 2.0], dtype=torch.float64) for x in (0.0, 3.0)]

    def says(*found):
        found = torch.tensor(found, dtype=torch.float64)
        return _floats_differ(found, exact, exact, noisy)

    assert not says(3.0, 1.0, 2.0)
    assert says(3.1, 1.0, 2.0) == "off by 3.1, allowed 3"
    assert says(3.0, 1.1, 2.0) == "off by 0.1, allowed 2e-08"


def test_rounding_that_a_narrow_program_magnifies_is_no_difference():
    exact = torch.zeros(4, dtype=torch.float64)
    noisy = [torch.tensor([0.01, 0.02, -0.01, 0.03]) for _ in range(3)]
    for size, differs in ((0.05, False), (0.5, True)):
        found = torch.full((4,), size)
        assert bool(_floats_differ(found, exact.float(), exact, noisy)) == differs


ENDINGS = """
import os, signal, sys, time
sys.path[:0] = [{here!r}, {support!r}]
from random_modules import run
from random_modules.program import Input, Line, Program

DIES = Line("", "__import__('os').kill(__import__('os').getpid(), 11)")
RIGHT = run._judged

def draw(seed, door):
    lines = [Line("v0", "x0 + 1")] + [DIES] * (seed == 1)
    given = (Input("x0", "tensor((n,), torch.float64, 1)"),)
    if seed == 4:
        os.kill(os.getpid(), signal.SIGSEGV)
    return Program(seed, (), given, tuple(lines), ("v0",), (3,))

def judged(program):
    if program.seed == 2:
        os.kill(os.getpid(), signal.SIGSEGV)
    if program.seed == 3:
        time.sleep(60)
    return RIGHT(program)

run.draw, run._judged = draw, judged
totals = run.Totals()
for failure in run.failures(0, 6, 60, limit=3, totals=totals):
    print(failure.seed, failure.verdict.kind)
print(sorted(totals.kinds.items()))
"""


def test_what_ends_a_process_is_a_failure_unless_eager_does():
    source = ENDINGS.format(here=str(HERE), support=str(HERE.parent / "support"))
    assert _output([sys.executable, "-c", source]) == (
        "2 killed by SIGSEGV\n"
        "3 no end within 3 s\n"
        "[('invalid', 2), ('killed by SIGSEGV', 1), ('no end within 3 s', 1), "
        "('right', 2)]\n"
    )


@pytest.mark.skipif(not IS_LONG, reason="with GIRIH_TEST_LONG")
def test_ranges_of_seeds_are_recorded(tmp_path):
    path = tmp_path / "seen.json"
    runner = [sys.executable, str(HERE / "random_modules")]
    _output([*runner, "--seed", "430010", "--count", "2", "--json", str(path)])
    seen = json.loads(path.read_text())
    assert seen["has_ended"] and seen["failures"] == []
    assert (seen["first"], seen["programs"]) == (430010, 2)


def _output(command: list[str]) -> str:
    variables = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=300, env=variables
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
