"""Every test here runs on an emulated GPU."""

import pytest


@pytest.fixture(autouse=True)
def _on_device(device):
    return device
