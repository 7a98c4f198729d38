"""A few programs of ``make fuzz-choices``, and defects that only it shows."""

import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from random_modules.grammar import program
from random_modules.judgement import judge

from girih.dialects.bindings import ir
from girih.passes import partition, plan_memory
from girih.passes.partition.costs import Costs

RUNNER = Path(__file__).parent / "random_modules"


def test_random_decisions_give_eagers_results():
    # The runner forks, so it has a process of its own.
    options = ["--choices", "--seed", "20", "--count", "2"]
    command = [sys.executable, str(RUNNER), *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"[12] right", done.stdout), done.stdout


def failing(seeds):
    """The first program that is wrong under random decisions, and how."""
    for seed in seeds:
        drawn = program(seed, "girih")
        if drawn is None:
            continue
        verdict = judge(replace(drawn, choices=seed))
        if verdict.is_failure:
            return drawn, verdict
    return None


def wrong_workspace(monkeypatch):
    """A buffer that does not share memory, where it could, lies 64 bytes too early."""
    right = plan_memory.place_static

    def wrong(lifetimes, choices=plan_memory.USUAL):
        offsets, size = right(lifetimes, choices)
        if not choices.are_usual and len(offsets) > 1:
            last = max(offsets, key=offsets.__getitem__)
            offsets[last] = max(offsets[last] - 64, 0)
        return offsets, size

    monkeypatch.setattr(plan_memory, "place_static", wrong)


def wrong_backward(monkeypatch):
    """Where an op runs again that need not, the backward pass has a wrong sum."""
    force, split, forced = Costs.force, partition.split, []

    def noted(self, position, *, again):
        forced.append(again)
        force(self, position, again=again)

    def wrong(function, reader, plan):
        split(function, reader, plan)
        if any(forced):
            function.parent.walk(spoil)
        forced.clear()

    monkeypatch.setattr(Costs, "force", noted)
    monkeypatch.setattr(partition, "split", wrong)


def spoil(op):
    """Makes a difference of the first product of a backward function."""
    if op.parent is None:
        return ir.WalkResult.ADVANCE
    is_backward = op.parent.name == "func.func" and "backward" in str(
        op.parent.attributes["sym_name"]
    )
    if op.name != "graph.mul" or not is_backward:
        return ir.WalkResult.ADVANCE
    made = ir.Operation.create(
        "graph.sub",
        operands=list(op.operands),
        results=[op.results[0].type],
        loc=op.location,
        ip=ir.InsertionPoint(op),
    )
    op.results[0].replace_all_uses_with(made.results[0])
    op.erase()
    return ir.WalkResult.INTERRUPT


@pytest.mark.parametrize(
    ("plant", "seeds"), [(wrong_workspace, (13, 3)), (wrong_backward, (8, 15))]
)
def test_a_defect_that_an_unusual_decision_shows_is_found(plant, seeds, monkeypatch):
    plant(monkeypatch)
    found = failing(seeds)
    assert found is not None
    drawn, verdict = found
    assert verdict.kind.split()[0] in ("result", "gradient", "argument", "buffer")
    assert not judge(drawn).is_failure  # the usual decisions do not show it
