"""Every op has a round-trip test, every message of the verifier a rejected op."""

import ast
import re
import traceback
from pathlib import Path

import pytest
from declared_ops import CASES

import girih.dialects
from girih.dialects import graph, host, rules, tile, tt, verifier
from girih.dialects.bindings import ir
from girih.dialects.context import make_context

_SOURCES = Path(girih.dialects.__file__).parent
_TESTS = Path(__file__).parent
_ALL_OPS = {**graph.OPS, **tile.OPS, **host.OPS, **tt.OPS}


@pytest.mark.parametrize("name", _ALL_OPS)
def test_every_op_round_trips_in_the_file_of_its_family(name):
    """Those with a ``SAMPLE`` are tried below."""
    op = _ALL_OPS[name]
    if op.SAMPLE is not None:
        return
    path = _TESTS / op.DIALECT / f"{op.FAMILY}.mlir"
    assert f'"{name}"(' in path.read_text()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_an_op_with_a_sample_round_trips(case):
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse("""
            func.func @f(%x: tensor<?x16xf32, ["s0"]>) {
              return
            }
        """)
        (block,) = module.body.operations[0].regions[0].blocks
        operands = [block.arguments[0]] * len(case.cls.OPERANDS)
        case.cls.build(
            operands,
            case.attributes,
            loc=ir.Location.unknown(),
            ip=ir.InsertionPoint.at_block_begin(block),
        )
        text = str(module)
        read = ir.Module.parse(text)
        assert case.cls.OPERATION_NAME in text and str(read) == text
        assert not verifier.problems_of(read)


@pytest.mark.parametrize("name", _ALL_OPS)
def test_every_op_is_documented(name):
    op = _ALL_OPS[name]
    assert op.__doc__ is not None
    assert op.__name__ == f"{_camel(name.partition('.')[2])}Op"


def _camel(name):
    parts = name.replace(".", "_").split("_")
    return "".join(part.capitalize() for part in parts)


def test_primitives_composites_and_library_ops_are_all():
    structure = {"graph.fusion", "graph.yield"}
    parts = [graph.PRIMITIVES, graph.COMPOSITES, graph.LIBRARY, structure]
    parts += [graph.DIFFERENTIATION, graph.KERNELS]
    assert sum(map(len, parts)) == len(graph.OPS)
    assert set().union(*parts) == set(graph.OPS)


_STATES_A_RULE = ("expect", "InvalidOp")


def _expectations():
    """Returns where the dialects state a rule: file name and line."""
    found = set()
    for path in _SOURCES.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in _STATES_A_RULE:
                found.add((path.relative_to(_SOURCES).as_posix(), node.lineno))
    return found


# Only builders can break these.
_OF_BUILDERS = ("definition.py", "rules.py")


def test_every_rule_is_broken_by_some_test(monkeypatch):
    broken = set()
    original = rules.InvalidOp.__init__

    def record(self, *args):
        for caller in traceback.extract_stack(limit=3)[:2]:
            path = Path(caller.filename).relative_to(_SOURCES)
            broken.add((path.as_posix(), caller.lineno))
        original(self, *args)

    monkeypatch.setattr(rules.InvalidOp, "__init__", record)
    for path in _TESTS.rglob("*_invalid.mlir"):
        _verify_chunks(path.read_text())
    expected = {place for place in _expectations() if place[0] not in _OF_BUILDERS}
    assert expected - broken == set()


def _verify_chunks(text):
    with make_context():
        for chunk in re.split(r"^// -----\n", text, flags=re.MULTILINE):
            assert verifier.problems_of(ir.Module.parse(chunk))
