"""Faults that tests plant in passes."""

import re
from pathlib import Path

from girih.dialects.bindings import ir
from girih.passes import registry

OTHERS = {
    "arith.mulf": "arith.subf",
    "graph.add": "graph.sub",
    "graph.mul": "graph.sub",
    "llvm.fmul": "llvm.fsub",
}
"""What a fault makes of the first op of such a name."""


def spoil(module):
    """Replaces the first op that stands in ``OTHERS``, at any depth."""

    def visit(op):
        if op.name not in OTHERS:
            return ir.WalkResult.ADVANCE
        replace(op, OTHERS[op.name])
        return ir.WalkResult.INTERRUPT

    module.walk(visit)


def replace(op, name):
    made = ir.Operation.create(
        name,
        operands=list(op.operands),
        results=[result.type for result in op.results],
        attributes={each: op.attributes[each] for each in op.attributes},
        loc=op.location,
        ip=ir.InsertionPoint(op),
    )
    op.results[0].replace_all_uses_with(made.results[0])
    op.erase()


def plant(monkeypatch, name):
    """Has a pass, girih's or an upstream one, spoil what it leaves."""

    def spoiled(run):
        def wrong(unit, module):
            run(unit, module)
            if unit.steps[-1].name == name:
                spoil(module)

        return wrong

    for runs in ("_run_own", "_run_upstream"):
        monkeypatch.setattr(registry, runs, spoiled(getattr(registry, runs)))


def ops_of(path: Path) -> int:
    """How many ops the function of a repro has."""
    return len(re.findall(r"^ +%\w+.* = ", path.read_text(), re.M))
