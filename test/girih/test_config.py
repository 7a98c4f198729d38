"""The table of environment variables names all that the sources read."""

import ast
import re
from pathlib import Path

import pytest

from girih import config

ROOT = Path(__file__).parents[2]
FOLDERS = "benchmarks codegen dialects docs examples frontend girih passes test tools"
NAMES = {variable.name for variable in config.VARIABLES}
_NAME = re.compile(r"\bGIRIH_[A-Z_]+\b")


def sources(*folders):
    """Texts that may name a variable; in C only what is read is one."""
    for folder in folders:
        for ending in ("py", "md", "c"):
            for path in (ROOT / folder).rglob(f"*.{ending}"):
                yield path, path.read_text()


def test_each_name_in_the_sources_is_in_the_table():
    found = {}
    others = [ROOT / name for name in ("Makefile", "README.md", "pyproject.toml")]
    texts = [*sources(*FOLDERS.split()), *((path, path.read_text()) for path in others)]
    for path, text in texts:
        if path.suffix == ".c":
            names = re.findall(r'getenv\("(GIRIH_[A-Z_]+)', text)
        else:
            names = _NAME.findall(text)
        found |= dict.fromkeys(names, path)
    assert len(texts) > 500
    assert {name: path for name, path in found.items() if name not in NAMES} == {}


@pytest.mark.parametrize("variable", config.VARIABLES, ids=lambda x: x.name)
def test_each_variable_of_the_table_is_read(variable):
    if variable.is_for_tests:
        texts = (text for path, text in sources("test") if path != Path(__file__))
        assert any(f'environ.get("{variable.name}"' in text for text in texts)
        return
    constant = variable.name.removeprefix("GIRIH_")
    assert getattr(config, constant) is variable
    calls = [
        node.func.value.id
        for node in ast.walk(ast.parse(Path(config.__file__).read_text()))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "value"
    ]
    assert constant in calls


def test_only_one_file_reads_them():
    folders = "codegen dialects frontend girih passes tools".split()
    reads = re.compile(r"(environ|getenv)[^\n]*GIRIH_")
    places = [path for path, text in sources(*folders) if reads.search(text)]
    assert places == []
