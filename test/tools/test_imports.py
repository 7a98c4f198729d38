"""Circles of imports are found, and told from those that are for types alone."""

import ast

import pytest

from girih.tools import imports


def _circles(for_types=False, **sources):
    modules = {name.replace("_", "."): ast.parse(t) for name, t in sources.items()}
    return imports.circles(modules, for_types)


@pytest.mark.parametrize(
    "text",
    [
        "import a",
        "from a import x",
        "def f():\n    from a import x",
        "class C:\n    import a",
        "if x:\n    import a",
    ],
)
def test_two_modules_that_import_one_another(text):
    assert _circles(a="from b import y", b=text) == ["a, b"]


def test_a_chain_is_no_circle():
    assert not _circles(a="import b", b="import c", c="import os")


def test_a_module_that_imports_itself_is_no_circle():
    assert not _circles(a="import a")


def test_a_longer_circle_is_one():
    assert _circles(a="import b", b="import c", c="import a", d="import a") == [
        "a, b, c"
    ]


@pytest.mark.parametrize("text", ["from . import b", "from .b import x"])
def test_relative_imports_count(text):
    assert _circles(p_a=text, p_b="from p import a", p="") == ["p.a, p.b"]


def test_what_is_imported_for_types_counts_apart():
    typed = "if TYPE_CHECKING:\n    from b import B"
    assert not _circles(a=typed, b="import a")
    assert _circles(for_types=True, a=typed, b="import a") == ["a, b"]
    assert not _circles(for_types=True, a="import b", b="import a")
