"""What the documents show runs, and the example pass does what it says."""

import os
import re
import subprocess
import sys
from pathlib import Path

import documents
import pytest
from documents import examples, output_of, stable_part

import girih
from girih import log
from girih.tools import reference

ROOT = Path(__file__).parent.parent
GELUS = """
func.func @main(%x: tensor<4xf32>, %y: tensor<8x16xf32>)
    -> (tensor<4xf32>, tensor<8x16xf32>) {
  %0 = "graph.gelu"(%x) {approximate = "none"} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "graph.gelu"(%y) {approximate = "none"} : (tensor<8x16xf32>) -> tensor<8x16xf32>
  return %0, %1 : tensor<4xf32>, tensor<8x16xf32>
}
"""


PAGES = {
    path.relative_to(ROOT).as_posix(): path
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md"))]
}
# The generator of these runs what they show, and test_pages.py compares.
GENERATED = {f"docs/{name}" for name in reference.PAGES}
PRINTED = {
    "README.md": (": 1 kernel; each call", "2 graphs, 1 break", '\n"main" '),
    "docs/adding-an-op.md": ("graph0: eager gives the same results in 1 call",),
    "docs/writing-a-dialect.md": ("graph0: eager gives the same results in 1 call",),
    "docs/writing-a-pass.md": ("fast-gelu at before:decompose",),
}


@pytest.mark.parametrize("name", PAGES)
def test_each_block_is_run_or_says_why_not(name):
    """A fence without a language would hide code; a mark belongs to a block of code."""
    page = PAGES[name].read_text()
    blocks = documents.code_blocks(PAGES[name])
    fences = re.findall(r"^\s*(?:```|~~~)", page, flags=re.MULTILINE)
    assert len(fences) == 2 * len(blocks)
    assert {block.language for block in blocks} <= documents.LANGUAGES
    marked = [block for block in blocks if block.reason]
    assert page.count("<!-- not run") == len(marked)
    assert all(block.language != "text" for block in marked)


@pytest.mark.parametrize(
    "name",
    [x for x in PAGES if x not in GENERATED and documents.blocks_to_run(PAGES[x])],
)
def test_the_blocks_of_a_page_run(name, tmp_path):
    printed = documents.output_of_page(PAGES[name], tmp_path)
    assert [text for text in PRINTED.get(name, ()) if text not in printed] == []


def test_a_block_that_fails_is_told(tmp_path):
    blocks = {"python": "1 / 0", "bash": "girih-opt --no-such-pass", "mlir": "%0 ="}
    for language, text in blocks.items():
        page = tmp_path / "page.md"
        page.write_text(f"```{language}\n{text}\n```\n")
        with pytest.raises(AssertionError):
            documents.output_of_page(page, tmp_path)


def test_example_pass(tmp_path):
    file = tmp_path / "gelus.mlir"
    file.write_text(GELUS)
    command = [sys.executable, "-m", "girih.tools.girih_opt", "--load=girih_example"]
    done = subprocess.run(
        [*command, "--fast-gelu=min-elements=100", str(file)],
        env=os.environ | {"PYTHONPATH": str(ROOT / "examples" / "plugin")},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    small, large = [line for line in done.stdout.splitlines() if "graph.gelu" in line]
    assert '"none"' in small and '"tanh"' in large


EXAMPLES = [example for page in PAGES.values() for example in examples(page)]


@pytest.mark.parametrize(("program", "printed"), EXAMPLES, ids=range(len(EXAMPLES)))
def test_examples_print_what_the_page_says(program, printed, tmp_path):
    """Where this fails for good reason: python test/support/documents.py FILE."""
    found = stable_part(output_of(program, tmp_path))
    assert found.strip() == stable_part(printed).strip()


def test_the_page_of_functions_names_all():
    page = (ROOT / "docs" / "functions.md").read_text()
    assert [n for n in girih.__all__ if n[0].islower() and n not in page] == []


def test_the_page_about_capture_names_logs_that_there_are():
    text = (ROOT / "docs" / "capture.md").read_text().partition("## Logs")[2]
    named = re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE)
    assert len(named) == 10
    assert set(named) <= set(log.NAMES)
    assert "(reference/environment.md#logs)" in text
