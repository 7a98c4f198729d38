"""A few models of ``make breadth``: the runner works, and they are right."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from extent import extent

RUNNER = Path(__file__).parent / "breadth"
ALL = ("torch/autoencoder", "torch/branches", "torch/encoder", "transformers/bert")
# Each folder of models and each part.
MODELS = extent(("torch/branches", "transformers/bert"), long=ALL)
PARTS = ("training32", "dynamic-training")


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """What one run saw. The runner forks, so it has a process of its own."""
    seen = tmp_path_factory.mktemp("breadth") / "seen.json"
    command = [sys.executable, str(RUNNER), "--only", f"^({'|'.join(MODELS)})$"]
    command += ["--parts", ",".join(PARTS), "--limit", "60", "--json", str(seen)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return {model["name"]: model for model in json.loads(seen.read_text())["models"]}


@pytest.mark.parametrize("name", MODELS)
def test_model_is_right(measured, name):
    parts = measured[name]["parts"]
    assert {part: parts[part]["verdict"] for part in parts} == dict.fromkeys(
        PARTS, "right"
    )
