"""Whose functions are captured on their own, where a frame runs as it was."""

import sys

import pytest
import torch

import girih

X = torch.ones(3)
MISSING = "no_such_module"


class Finder:
    """Looks for modules, with tensors, and finds none."""

    def __init__(self):
        self.compiled = []

    def find_spec(self, name, path, target=None):
        if name == MISSING:
            total = (X + 1).sum()
            self.compiled.append(girih.is_compiling())
            assert total == 6


@pytest.fixture
def finder(monkeypatch):
    finder = Finder()
    monkeypatch.setattr(sys, "meta_path", [finder, *sys.meta_path])
    return finder


@girih.disable(recursive=False)
def load():
    with pytest.raises(ImportError):
        __import__(MISSING)


def test_what_an_import_runs_is_left_alone(finder):
    def function(x):
        y = x + 1
        load()
        return y * 2

    captures = girih.counters()["captures"]
    assert torch.equal(girih.compile(function)(X), (X + 1) * 2)
    assert finder.compiled == [False]
    assert girih.counters()["captures"] == captures + 2
