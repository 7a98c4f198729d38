"""Tests on a GPU: skipped, with the reason, where there is none.

``make test-gpu`` runs them, and other suites with their tensors on the device.
"""

from pathlib import Path

import pytest
import torch
from gpu_device import why_not

FOLDER = Path(__file__).parent


def pytest_collection_modifyitems(config, items):
    reason = why_not()
    if reason is None or config.getoption("--emulated"):
        return
    for item in items:
        if FOLDER in item.path.parents:
            item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(autouse=True)
def _full_precision(monkeypatch):
    """Convolutions in float32 keep all its bits, so that eager can be compared with."""
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", False)
