"""Every op has a derivative or a reason why not, and tests in its family."""

import re
from pathlib import Path

import pytest

from girih.dialects import graph
from girih.passes.autograd import INACTIVE, NOT_DIFFERENTIABLE, RULES

TESTS = Path(__file__).parent
# Made by passes that run later, or the end of a region.
STRUCTURE = {"fusion", "yield"}
NAMES = {name.removeprefix("graph.") for name in graph.OPS} - STRUCTURE
FAMILIES = {graph.OPS[f"graph.{name}"].FAMILY for name in RULES}


@pytest.mark.parametrize("name", sorted(NAMES))
def test_every_op_has_a_rule_or_a_reason(name):
    assert (name in RULES) != (name in NOT_DIFFERENTIABLE)
    reason = NOT_DIFFERENTIABLE.get(name, "a rule")
    assert len(reason.split()) > 1, "a reason is a sentence"


def test_rules_and_reasons_are_of_ops():
    assert set(RULES) <= NAMES
    assert set(INACTIVE) <= set(NOT_DIFFERENTIABLE) <= NAMES


@pytest.mark.parametrize("name", sorted(RULES))
def test_every_rule_is_compared_with_torch(name):
    """By ``check_op``, in a file of this folder that names the op.

    ``numerics/test_declared_ops.py`` does so for ops with a ``SAMPLE``.
    """
    if graph.OPS[f"graph.{name}"].SAMPLE is not None:
        return
    files = set(TESTS.glob("test_*.py")) - {Path(__file__)}
    assert [path for path in files if re.search(rf"\b{name}\b", path.read_text())]


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_every_family_shows_what_it_makes(family):
    """Forward in, forward and backward out, in the lit file of the family."""
    text = (TESTS / f"{family}.mlir").read_text()
    assert "--autograd" in text
    assert "graph.cotangent" in text
