"""Every ``unsupported(...)`` of the code says why, in plain words."""

import ast
import string
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
STARTS = (*string.ascii_uppercase, "girih ", "torch.")
FIELDS = ("kind", "context", "explanation", "hints", "location")


def reasons():
    """Place and arguments of each reason that the code gives."""
    for folder in ("girih", "frontend"):
        for file in sorted((ROOT / folder).rglob("*.py")):
            for node in ast.walk(ast.parse(file.read_text())):
                name = getattr(getattr(node, "func", None), "id", "")
                if name in ("unsupported", "UnsupportedError") and is_reason(node):
                    given = dict(zip(FIELDS, node.args, strict=False))
                    given |= {k.arg: k.value for k in node.keywords}
                    yield f"{file.relative_to(ROOT)}:{node.lineno}", given


def is_reason(call):
    """Whether a call names its kind itself, instead of passing another one on."""
    kinds = [k.value for k in call.keywords if k.arg == "kind"] or call.args[:1]
    return any(isinstance(kind, ast.Constant) for kind in kinds)


REASONS = list(reasons())


def test_all_are_found():
    assert len(REASONS) > 80


@pytest.mark.parametrize(
    ("place", "given"), REASONS, ids=[place for place, _ in REASONS]
)
def test_says_why(place, given):
    assert "explanation" in given
    explanation = given["explanation"]
    if isinstance(explanation, ast.Constant):
        assert explanation.value.endswith("."), explanation.value
        assert explanation.value.startswith(STARTS), explanation.value
    for hint in getattr(given.get("hints"), "elts", ()):
        if isinstance(hint, ast.Constant):
            assert hint.value[0].isupper() and hint.value.endswith("."), hint.value


def test_a_kind_stands_in_one_place():
    kinds = Counter(given["kind"].value for _, given in REASONS)
    # One reason of two places: the operation's branches, the depth of calls; the
    # importer says of graphs from other doors what capture says of programs.
    shared = {"branches with different results", "calls nested too deeply"}
    assert {kind for kind, count in kinds.items() if count > 1} <= shared
