"""What the documents show runs, and the example pass does what it says."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from documents import examples, output_of, stable_part
from processes import run_python
from readme import python_blocks

import girih
from girih import log

ROOT = Path(__file__).parent.parent
GELUS = """
func.func @main(%x: tensor<4xf32>, %y: tensor<8x16xf32>)
    -> (tensor<4xf32>, tensor<8x16xf32>) {
  %0 = "graph.gelu"(%x) {approximate = "none"} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "graph.gelu"(%y) {approximate = "none"} : (tensor<8x16xf32>) -> tensor<8x16xf32>
  return %0, %1 : tensor<4xf32>, tensor<8x16xf32>
}
"""


def test_quick_start_of_the_readme():
    printed = run_python(python_blocks("Quick start"))
    assert "1 kernels" in printed


def test_capture_example_of_the_readme():
    program = "import torch\nimport girih\n" + python_blocks("See what happened")
    assert "2 graphs, 1 break" in run_python(program)


def test_pass_of_the_readme():
    start = "import torch\nimport girih\n"
    printed = run_python(start + python_blocks("Your own pass in ten lines"))
    assert printed.startswith('"main" ')


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


EXAMPLES = [
    example
    for page in ("capture.md", "checking.md", "eager.md", "training.md")
    for example in examples(ROOT / "docs" / page)
]


@pytest.mark.parametrize(("program", "printed"), EXAMPLES, ids=range(len(EXAMPLES)))
def test_examples_print_what_the_page_says(program, printed, tmp_path):
    """Where this fails for good reason: python test/support/documents.py FILE."""
    found = stable_part(output_of(program, tmp_path))
    assert found.strip() == stable_part(printed).strip()


def test_the_page_of_functions_names_all():
    page = (ROOT / "docs" / "functions.md").read_text()
    assert [n for n in girih.__all__ if n[0].islower() and n not in page] == []


def test_the_page_about_capture_names_all_logs():
    page = (ROOT / "docs" / "capture.md").read_text()
    assert [name for name in log.NAMES if f"| `{name}` |" not in page] == []
