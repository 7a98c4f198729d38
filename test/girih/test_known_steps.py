"""Pipelines that a compilation asks for again are the same ones."""

from dataclasses import replace

import torch

from girih.compiler.runner import Runner
from girih.compiler.targets import target_of
from girih.options import Options
from girih.passes.drop_zero_cotangents import DropZeroCotangentsOptions
from girih.passes.pipelines import steps_of
from girih.passes.user_passes import parse_user_passes
from girih.reports import Report


def runner(**options):
    target = target_of(torch.device("cpu"))
    return Runner(Options(**options), Report(name="graph0"), target)


def said(steps):
    return [(str(step), step.stage, step.given) for step in steps]


def test_pipelines_are_filled_once(monkeypatch):
    """The key of a kept program, and what runs, ask for each."""
    asked = []

    def noted(name, options):
        asked.append(name)
        return steps_of(name, options)

    monkeypatch.setattr("girih.compiler.runner.steps_of", noted)
    one = runner()
    first = one.steps("graph")
    expected = said(first)
    first.clear()  # each gets a list of its own
    assert said(one.steps("graph")) == expected
    assert asked == ["graph"]


def test_options_of_one_run_are_not_kept():
    one = runner()
    plain = said(one.steps("backward"))
    options = DropZeroCotangentsOptions(cotangents=(1,))
    assert said(one.steps("backward", {"drop-zero-cotangents": options})) != plain
    assert said(one.steps("backward")) == plain


def test_passes_of_users_are_those_of_the_kind_of_program():
    passes = parse_user_passes({"forward:before:fuse": "cse"})
    one = runner(passes=passes)
    inference = len(one.steps("fusions"))
    one.kind = "forward"
    assert len(one.steps("fusions")) == inference + 1


def test_stages_that_have_the_same_pass_keep_their_names():
    """Options are filled in once for a pass, in whatever stage it is."""
    for name in ("graph", "fusions", "backward"):
        given = runner().steps(name)
        assert [s.stage for s in given] == [s.stage for s in steps_of(name, {})]
    (tile,) = (s for s in runner(vector_bits=128).steps("cpu") if s.name == "tile")
    assert "vector-bits=128" in tile.options and tile.given.vector_bits == 128
    assert replace(tile.given, vector_bits=256) != tile.given
