"""``girih.bisect`` names the one decision of a pass that makes a program wrong."""

import re

import pytest
import torch

import girih
from girih.bisection import command
from girih.dialects.bindings import ir
from girih.passes import plan_memory, registry
from girih.passes.convert_graph_to_host import plan as layout_plan


@pytest.fixture
def after(monkeypatch):
    """Has a function change what a pass leaves."""

    def plant(name, change):
        right = registry._run_own

        def wrong(unit, module):
            right(unit, module)
            if unit.steps[-1].name == name:
                change(module)

        monkeypatch.setattr(registry, "_run_own", wrong)

    return plant


def is_right(culprit, **options):
    """Whether ``girih.run`` of the repro gives what is expected."""
    repro, inputs, expected = culprit.files
    found = girih.run(repro, *torch.load(inputs), **options)
    found = found if isinstance(found, tuple) else (found,)
    pairs = zip(found, torch.load(expected), strict=True)
    return all(torch.allclose(one, other, equal_nan=True) for one, other in pairs)


def spoil_behind_reductions(module):
    """A fusion with a reduction multiplies where it should divide."""

    def visit(op):
        if op.name != "graph.fusion":
            return ir.WalkResult.ADVANCE
        ops = list(op.regions[0].blocks[0].operations)
        names = [each.operation.name for each in ops]
        if "graph.reduce_sum" in names:
            for each in ops[names.index("graph.reduce_sum") :]:
                if each.operation.name == "graph.div":
                    made = ir.Operation.create(
                        "graph.mul",
                        operands=list(each.operands),
                        results=[each.results[0].type],
                        ip=ir.InsertionPoint(each),
                    )
                    each.results[0].replace_all_uses_with(made.results[0])
                    each.operation.erase()
                    break
        return ir.WalkResult.ADVANCE

    module.walk(visit)


def normalized(x):
    y = x.exp() + 1
    return y / y.sum(-1, keepdim=True), (x * 3).cos()


def test_a_wrong_fusion_of_a_reduction_with_what_follows(after, tmp_path):
    after("fuse", spoil_behind_reductions)
    found = girih.bisect(normalized, folder=tmp_path)(torch.randn(9, 40))
    culprit = found.culprit
    assert culprit.stage == "fuse"
    pattern = r"decision: fuse: %\d+ reduce_sum into %\d+ div at \S*:\d+ \(yes\)"
    assert re.search(pattern, str(found))
    assert culprit.options["choices_pass"] == "fuse"
    text = culprit.files[0].read_text()
    fuel = culprit.options["choices_fuel"] + 1
    assert f"fuel={fuel}" in text.partition("\n")[0] and "Decision: fuse:" in text
    # The option makes the repro right, and girih-bisect finds the same in the file.
    assert not is_right(culprit) and is_right(culprit, options=culprit.options)
    assert command.main([str(tmp_path), "--folder", str(tmp_path / "again")]) == 1
    again = (tmp_path / "again" / "repro.mlir").read_text()
    assert "Decision: fuse:" in again


def chained(x):
    """Intermediates that are alive together, in a workspace."""
    a = x.cumsum(0)
    b = a.cumsum(1)
    c = (b + a.flip(0)).cumsum(0)
    return (c + b.flip(1) + a.flip(0)).cumsum(1)


def test_a_wrong_reuse_of_buffers(monkeypatch, tmp_path):
    right = plan_memory._lowest

    def wrong(size, taken):
        """Buffers share memory with one that is alive."""
        return 0 if taken else right(size, taken)

    monkeypatch.setattr(plan_memory, "_lowest", wrong)
    found = girih.bisect(chained, folder=tmp_path)(torch.randn(9, 40))
    culprit = found.culprit
    assert culprit.stage == "plan-memory", found
    pattern = r"plan-memory: \d+ bytes share memory at \S*:\d+ \(yes\)"
    assert re.fullmatch(pattern, culprit.decision), found
    assert "plan-memory{" in culprit.files[0].read_text().partition("\n")[0]
    assert culprit.ops <= 10
    assert not is_right(culprit) and is_right(culprit, options=culprit.options)


def overwritten(x):
    y = x.cumsum(0)
    z = (y.exp() - y.flip(1)).cumsum(1)
    return z.flip(0).cumsum(0) + y.flip(0)


def test_a_kernel_over_what_it_still_reads(monkeypatch, tmp_path):
    def wrong(op, result, layout, own, order):
        """Each kernel writes over an operand of the same type."""
        fits = (v for v in op.operands if v in own and v.type == result.type)
        return next(fits, None)

    monkeypatch.setattr(layout_plan, "overwritten_by_kernel", wrong)
    found = girih.bisect(overwritten, folder=tmp_path)(torch.randn(9, 40))
    culprit = found.culprit
    # Kernels that have no loops yet compute whole tensors.
    assert culprit.stage == "tile", found
    assert culprit.decision.startswith("convert-graph-to-host: ")
    assert "over what it reads at" in culprit.decision, found


def test_a_fault_without_a_decision_names_none(after, tmp_path):
    def spoil(module):
        def visit(op):
            if op.name == "graph.exp":
                op.attributes["spoiled"] = ir.UnitAttr.get()
                made = ir.Operation.create(
                    "graph.sin",
                    operands=list(op.operands),
                    results=[op.results[0].type],
                    ip=ir.InsertionPoint(op),
                )
                op.results[0].replace_all_uses_with(made.results[0])
                op.erase()
                return ir.WalkResult.INTERRUPT
            return ir.WalkResult.ADVANCE

        module.walk(visit)

    after("fuse", spoil)
    found = girih.bisect(normalized, folder=tmp_path)(torch.randn(9, 40))
    assert found.culprit.stage == "fuse" and not found.culprit.decision
