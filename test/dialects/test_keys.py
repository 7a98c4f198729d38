"""The contract of `@main`: its keys have one name each, and a line in the documents."""

import ast
from pathlib import Path

import pytest

from girih.dialects import definition, graph, keys
from girih.dialects.graph import signature
from girih.tools import key_table

KEYS = {name: value for name, value in vars(keys).items() if name.isupper()}
ROOT = Path(__file__).parents[2]
DOCUMENT = ROOT / "docs" / "reference" / "attributes.md"


@pytest.mark.parametrize("name", KEYS)
def test_a_key_has_the_name_of_its_constant(name):
    dialect, _, key = KEYS[name].partition(".")
    assert (dialect in ("graph", "host"), key) == (True, name.lower())


def test_no_source_spells_a_key():
    """A key that is written as text has no row in the documents."""
    folders = ("girih", "frontend", "passes", "codegen")
    files = [f for folder in folders for f in (ROOT / folder).rglob("*.py")]
    constants = {
        (file.name, node.value)
        for file in files
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Constant)
    }
    graph.load()
    keys_alone = {*KEYS.values()} - {*definition.OPS}
    assert {pair for pair in constants if pair[1] in keys_alone} == set()


def test_what_is_verified_has_a_constant():
    verified = {*signature.ARGUMENT, *signature.RESULT}
    assert verified <= set(KEYS.values())


@pytest.mark.parametrize("key", KEYS.values())
def test_a_key_is_documented(key):
    assert f"| `{key}` |" in DOCUMENT.read_text()


@pytest.mark.parametrize("name", KEYS)
def test_a_key_names_the_places_where_it_is_verified(name):
    places = key_table.documented_keys()[name].places
    tables = {"argument": signature.ARGUMENT, "result": signature.RESULT}
    for place, table in tables.items():
        is_checked = KEYS[name] in table
        assert is_checked == (place in places) or name in key_table.TRANSIENT


def test_who_writes_and_reads_a_key_is_found():
    text = "a[keys.SIZE] = 1\nb = {keys.VIEW: 1}\nif keys.SIZE in a: pass\n"
    text += "_K = keys.VALUE\na[_K] = 2\ndel a[_K]\n"
    uses = key_table.uses_in(ast.parse(text))
    assert uses == {
        ("SIZE", True),
        ("VIEW", True),
        ("SIZE", False),
        ("VALUE", True),
        ("VALUE", False),
    }
