"""The lists that ``girih-opt`` prints."""

import subprocess
import sys
import textwrap

import pytest

from girih.passes import PASS_MODULES, registry
from girih.tools import listing


@pytest.mark.parametrize("name", PASS_MODULES)
def test_a_pass_and_its_options_are_described(name):
    info = registry.find_pass(name)
    assert info.summary.endswith("."), info.summary
    options = listing.pass_options(info.options) if info.options else []
    assert [x.name for x in options if not x.meaning.endswith(".")] == []


def test_a_pass_without_a_docstring_has_no_line_for_it(tmp_path):
    text = """
        import girih
        mine = girih.plugin("mine")
        @mine.compiler_pass("undescribed")
        def run(module): pass
    """
    (tmp_path / "mine.py").write_text(textwrap.dedent(text))
    command = [sys.executable, "-m", "girih.tools.girih_opt", "--list-passes"]
    command.append(f"--load={tmp_path / 'mine.py'}")
    done = subprocess.run(command, capture_output=True, text=True)
    _, found, rest = done.stdout.partition("  undescribed  (on builtin.module)\n")
    assert found and rest.partition("\n")[0].strip()
