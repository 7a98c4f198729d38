"""Installed plugins that can't be loaded leave nothing behind."""

import importlib

import pytest
import torch

import girih
from girih import plugins
from girih.dialects import definition
from girih.passes import registry


def test_what_cannot_be_loaded_is_told_and_left_out(monkeypatch):
    class Point:
        name, value = "broken", "no_such_module"

        def load(self):
            raise ModuleNotFoundError("no_such_module")

    plugins.load_installed.cache_clear()
    monkeypatch.setattr(plugins.metadata, "entry_points", lambda group: [Point()])
    try:
        with pytest.warns(plugins.PluginWarning, match="'broken'.*no_such_module"):
            assert plugins.load_installed() == {}
    finally:
        plugins.load_installed.cache_clear()


HALF_WAY = """
import torch
import girih
from girih.plugins import result, operand
half = girih.plugin("half_way")
class SomeOp(half.Unary, name="some"):
    "y = x"
@half.compiler_pass("half-way-pass", place="before:fuse")
def some_pass(module):
    raise AssertionError("ran")
@half.emits(SomeOp)
def emit_some(b, node, values):
    return values[0]
@half.canonicalizes("graph.exp")
def simpler(op, b):
    raise AssertionError("ran")
@half.imports("aten::cauchy")
def import_cauchy(b, x):
    raise AssertionError("ran")
raise RuntimeError("half-way")
"""


def test_what_fails_half_way_is_taken_back(tmp_path, monkeypatch):
    """Its pass has a place in every compilation, and its rules are for girih's ops."""

    class Point:
        name, value = "half", "half_way_plugin"

        def load(self):
            return importlib.import_module("half_way_plugin")

    (tmp_path / "half_way_plugin.py").write_text(HALF_WAY)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(plugins.metadata, "entry_points", lambda group: [Point()])
    plugins.load_installed.cache_clear()
    try:
        with pytest.warns(plugins.PluginWarning, match="'half'.*half-way"):
            assert plugins.load_installed() == {}
    finally:
        plugins.load_installed.cache_clear()
    assert "half_way.some" not in definition.OPS
    assert "half-way-pass" not in registry.own_pass_names()
    x = torch.rand(5)
    got = girih.compile(lambda x: x.exp(), fullgraph=True)(x)
    torch.testing.assert_close(got, x.exp())
