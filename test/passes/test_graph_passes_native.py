"""Random programs, fused and compiled to machine code, give what their ops say."""

import pytest
import torch
from random_graphs import random_graph

from girih import compiler
from girih.dialects.bindings import ir
from girih.dialects.context import current
from girih.evaluation.reference import evaluate
from girih.frontend.importer import ImportedGraph, OutputSlot
from girih.options import Options
from girih.reports import Report

PROGRAMS = 15
OPS = 16


class NoFallback:
    """Stands for the captured graph, which must not be needed."""

    def __init__(self, count):
        super().__init__()
        self.graph = torch.fx.Graph()
        given = [self.graph.placeholder(f"x{index}") for index in range(count)]
        self.graph.output(tuple(given))

    def forward(self, *inputs):
        raise AssertionError("the compiled program fell back to eager")


def compiled(module, inputs, results, monkeypatch):
    outputs = [OutputSlot("result", index) for index in range(results)]
    imported = ImportedGraph(
        module, "main", list(range(len(inputs))), len(inputs), [], outputs
    )
    monkeypatch.setattr(
        compiler, "import_graph", lambda gm, example_inputs, **_: imported
    )
    options = Options(fallback=False)
    return compiler.compile_graph(
        NoFallback(len(inputs)), inputs, options, Report("random")
    )


@pytest.mark.parametrize("symbolic", [False, True], ids=["static", "symbolic"])
def test_random_programs(symbolic, monkeypatch):
    with current(), ir.Location.unknown():
        for seed in range(PROGRAMS):
            module, inputs = random_graph(seed, OPS, symbolic=symbolic)
            expected = evaluate(module, inputs)
            program = compiled(module, inputs, len(expected), monkeypatch)
            torch.testing.assert_close(
                list(program(*inputs)),
                expected,
                rtol=1e-6,
                atol=1e-6,
                equal_nan=True,
                msg=lambda text, seed=seed: f"program {seed}: {text}",
            )
