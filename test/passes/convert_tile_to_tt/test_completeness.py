"""Every op of scheduled kernels has a rule."""

import pytest

from girih.dialects import tile
from girih.passes.convert_tile_to_tt import driver  # noqa: F401  (registers rules)
from girih.passes.convert_tile_to_tt.lowering import RULES, lowers

# Kernels and grids are functions; reads and writes are scheduled before; scratch is a
# cache of processors, which schedules for GPUs do not use, nor do they fetch into one.
WITHOUT_RULE = {
    *("tile.kernel", "tile.grid", "tile.read", "tile.write"),
    *("tile.scratch", "tile.prefetch"),
    "tile.call",  # made for processors: devices have their own functions
}


def test_every_op_has_a_rule():
    ours = {name for name in RULES if name.startswith("tile.")}
    assert ours == set(tile.OPS) - WITHOUT_RULE


def test_two_rules_for_an_op_are_refused():
    with pytest.raises(ValueError, match=r"second rule that lowers tile\.load"):
        lowers("tile.load")(lambda lowering, op: None)
