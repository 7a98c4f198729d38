"""Each row of ``docs/coming-from-torch-compile.md`` names what is there."""

import importlib
import re
from pathlib import Path

import pytest
import torch

import girih

PAGE = Path(__file__).parents[2] / "docs" / "coming-from-torch-compile.md"

MODULES = {"`torch.compiler`": "torch.compiler", "`torch._dynamo`": "torch._dynamo"}
"""By the heading of a table the module that has the names of its first column."""

SINCE_2_13 = (
    "allow_c_slot bytecode_debugger override_cudagraphs override_optimization_hint "
    "dynamic_sources unbacked_sources dynamic_values"
).split()
"""Names of rows that an older torch may lack."""

DECORATORS = "torch._dynamo.decorators"
"""Where names are that ``torch._dynamo`` itself does not have."""


def rows() -> list[tuple[str, str, str]]:
    """The heading, torch's part and girih's part of each row."""
    found, heading = [], ""
    for line in PAGE.read_text().splitlines():
        if line.startswith("## "):
            heading = line[3:]
        elif line.startswith("| ") and not line.startswith("| torch | girih"):
            theirs, ours = re.split(r" \| ", line.strip("| "), maxsplit=1)
            found.append((heading, theirs, ours))
    return found


def has(path: str) -> bool:
    """Whether a dotted name leads to something."""
    module, _, name = path.rpartition(".")
    if name in SINCE_2_13 and torch.__version__ < "2.13":
        return True
    try:
        return hasattr(importlib.import_module(module), name)
    except ImportError:
        return False


@pytest.mark.parametrize(("heading", "theirs", "ours"), rows())
def test_names_of_the_row_are_there(heading, theirs, ours):
    for name in re.findall(r"`girih\.(\w+)", ours):
        assert hasattr(girih, name)
    for path in re.findall(r"`(torch(?:\.\w+)+)", theirs):
        assert path == "torch.compile" or has(path)
    for name in re.findall(r"the method `(\w+)` of what `torch\.compile`", theirs):
        assert hasattr(torch.compile(lambda x: x, backend="eager"), name)
        theirs = theirs.partition(", and the method")[0]
    module = MODULES.get(heading)
    if module is None:
        return
    prefix = ""
    for name in re.findall(r"`([\w.]+)", theirs):
        if name.startswith("config."):
            prefix, name = ".config", name.partition(".")[2]
        assert has(f"{module}{prefix}.{name}") or has(f"{DECORATORS}.{name}")


def test_each_table_has_rows():
    assert {heading for heading, _, _ in rows()} >= MODULES.keys()
    assert len(rows()) > 50


@pytest.mark.parametrize("name", MODULES.values())
def test_each_public_name_of_torch_is_on_the_page(name):
    text = PAGE.read_text()
    names = importlib.import_module(name).__all__
    missing = [n for n in names if not re.search(rf"[`.]{n}\b", text)]
    assert missing == []
