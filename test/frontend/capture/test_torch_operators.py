"""A part of the sweep over torch's operators; the whole is ``operator_sweep.py``."""

import pytest

pytest.importorskip("expecttest", reason="torch's table of operators needs it")

from operator_table import op_db  # noqa: E402

from . import operator_sweep as sweep  # noqa: E402

_EVERY = 24


def test_captured_operators_give_what_eager_gives():
    found = [
        (case.name, why)
        for op in op_db[::_EVERY]
        for case, kind, why in sweep.run(op, 1)
        if kind is sweep.WRONG
    ]
    assert not found


@pytest.mark.parametrize("name", ["nonzero", "unique", "masked_select", "item"])
def test_what_depends_on_data_breaks_the_graph(name):
    (op,) = (op for op in op_db if op.formatted_name == name)
    kinds = {kind for _, kind, _ in sweep.run(op, 1)}
    assert kinds == {sweep.BREAK}


@pytest.mark.parametrize("name", ["add", "cumsum", "index_put", "scatter", "norm"])
def test_all_forms_are_in_the_graph(name):
    (op,) = (op for op in op_db if op.formatted_name == name)
    kinds = {kind for _, kind, _ in sweep.run(op, 2)}
    assert kinds <= {sweep.GRAPH, sweep.RAISES}
