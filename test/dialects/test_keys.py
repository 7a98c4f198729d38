"""The contract of `@main`: its keys have one name each, and a line in the documents."""

from pathlib import Path

import pytest

from girih.dialects import keys
from girih.dialects.graph import signature

KEYS = {name: value for name, value in vars(keys).items() if name.isupper()}
DOCS = Path(__file__).parents[2] / "docs"
PAGES = (DOCS / "architecture.md", *(DOCS / "inside").glob("*.md"))


@pytest.mark.parametrize("name", KEYS)
def test_a_key_has_the_name_of_its_constant(name):
    assert KEYS[name] == f"graph.{name.lower()}"


def test_what_is_verified_has_a_constant():
    verified = {*signature._ARGUMENT, *signature._RESULT}
    assert verified <= set(KEYS.values())


@pytest.mark.parametrize("key", sorted({*signature._ARGUMENT, *signature._RESULT}))
def test_what_is_verified_is_documented(key):
    assert any(f"`{key}" in page.read_text() for page in PAGES)
