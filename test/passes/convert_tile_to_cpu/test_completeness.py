"""Every op of scheduled kernels has a rule."""

import pytest
from kernel_builder import KernelBuilder

from girih.dialects import tile
from girih.passes.convert_tile_to_cpu import driver  # noqa: F401  (registers rules)
from girih.passes.convert_tile_to_cpu.lowering import RULES, lowers
from girih.passes.registry import PassError, run_pipeline

# Terminators go with the op that they end; reads and writes are scheduled before.
# Products and scans of blocks, and updates, are for GPUs.
WITHOUT_RULE = {"tile.dot", "tile.kernel", "tile.read", "tile.write", "tile.yield"}
WITHOUT_RULE |= {"tile.block_scan", "tile.update"}


def test_every_op_has_a_rule():
    ours = {name for name in RULES if name.startswith("tile.")}
    assert ours == set(tile.OPS) - WITHOUT_RULE


def test_two_rules_for_an_op_are_refused():
    with pytest.raises(ValueError, match=r"second rule that lowers tile\.load"):
        lowers("tile.load")(lambda lowering, op: None)


def test_an_unscheduled_kernel_is_refused():
    k = KernelBuilder(["f32"])
    tile.build("read", [k.buffers[0]])
    with pytest.raises(PassError, match="'tile.read' expected IR of level 'tile'"):
        run_pipeline(k.finish(), "convert-tile-to-cpu")


def test_an_unscheduled_op_is_refused_by_the_pass_itself():
    k = KernelBuilder(["f32"])
    tile.build("read", [k.buffers[0]])
    message = "expected a scheduled kernel, got tile.read"
    with pytest.raises(PassError, match=message) as caught:
        run_pipeline(k.finish(), "convert-tile-to-cpu", checks_input=False)
    assert "tile.read" in caught.value.op_text


def test_a_local_buffer_that_is_too_large_is_refused():
    k = KernelBuilder(["f32"])
    k.local("workspace", "f64", 1 << 18)
    with pytest.raises(PassError, match="expected at most 1048576 bytes, got 2097152"):
        run_pipeline(k.finish(), "convert-tile-to-cpu")
