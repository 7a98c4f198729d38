"""Operations that raise because of their data, in blocks that see it, or don't."""

import itertools
import os

import pytest
import torch
from blocks_programs import BLOCKS, CHANGES, OPERATIONS, only_reads, outcome
from capture_differential import assert_same

import girih

KIND = "error of a graph inside a `try` or `with` block"
IS_LONG = os.environ.get("GIRIH_TEST_LONG") == "1"
ALL = list(itertools.product(CHANGES, BLOCKS, OPERATIONS))
# Each block with each operation, and each change with each block.
SOME = [(c, b, o) for n, (c, b, o) in enumerate(ALL) if n % 7 == 0]


def _sees(change, block, operation) -> bool:
    """Whether a block sees what an operation raises in a graph that can't run again."""
    changes = change is not only_reads or operation.__name__ == "index_copy"
    return changes and OPERATIONS[operation] in BLOCKS[block]


@pytest.mark.parametrize(("change", "block", "operation"), ALL if IS_LONG else SOME)
def test_blocks_see_what_they_see_in_python(change, block, operation):
    sees = _sees(change, block, operation)
    for options in ({}, {"fullgraph": True}):
        girih.reset()
        compiled = girih.compile(change, backend="eager", **options)
        for is_bad in (False, True):
            expected = outcome(change, block, operation, is_bad)
            try:
                found = outcome(compiled, block, operation, is_bad)
            except girih.UnsupportedError as error:
                assert options
                assert error.kind == KIND
                assert sees
                continue
            assert_same(found, expected)
    girih.reset()
    arguments = torch.ones(1, 4), torch.ones(3, 4), torch.tensor([2]), []
    report = girih.explain(change, backend="eager")(block, operation, *arguments)
    kinds = [reason.kind for reason in report.break_reasons]
    assert kinds.count(KIND) == 0 or sees
