"""Passes that print change nothing: what they print about is what compiles."""

import pytest
import torch

import girih
from girih.dialects.assembly.modules import parse_module
from girih.dialects.bindings import ir
from girih.dialects.context import make_context
from girih.passes import levels, registry
from girih.passes.registry import run_pipeline

F = torch.nn.functional


def repeated_constant(x):
    return torch.zeros(1).expand(9) + 0, torch.ones(1).expand(5), x + 1


def filled_and_written(x):
    zeros = torch.zeros(6, 4)
    index = torch.tensor([1, 0, 5])
    return zeros.index_add(0, index, x), zeros.index_add(0, index, x * 2), zeros


def softmax_of_a_product(x):
    return torch.softmax(x @ x.t(), -1).sum(0)


def attention(x):
    q = x[None, None]
    return F.scaled_dot_product_attention(q, q, q)


PROGRAMS = [repeated_constant, filled_and_written, softmax_of_a_product, attention]
NAMES = [name for name in registry.own_pass_names() if name.startswith("print-")]
# The dump in which IR of a level lies.
DUMPS = {"graph": ("graph", "derivatives"), "host": ("host",)}


@pytest.fixture(scope="module")
def modules(tmp_path_factory):
    """The texts of all programs by level, with and without derivatives."""
    folder = tmp_path_factory.mktemp("dumps")
    for program in PROGRAMS:
        for wants_gradient in (False, True):
            compiled = girih.compile(program, options={"dump_dir": str(folder)})
            x = torch.randn(3, 4, requires_grad=wants_gradient)
            results = compiled(x)
            results = results if isinstance(results, tuple) else (results,)
            if wants_gradient:
                sum(r.sum() for r in results if r.requires_grad).backward()
    return {
        level: [
            path.read_text()
            for stem in stems
            for path in sorted(folder.glob(f"*/*-{stem}.mlir"))
        ]
        for level, stems in DUMPS.items()
    }


@pytest.mark.parametrize("name", NAMES)
def test_a_pass_that_prints_changes_nothing(name, modules, capsys):
    (level,) = levels.CONTRACTS[name].takes
    assert len(modules[level]) >= len(PROGRAMS)
    for text in modules[level]:
        with make_context(), ir.Location.unknown():
            module = parse_module(text)
            before = str(module)
            run_pipeline(module, name, checks_input=False)
            assert str(module) == before
    assert capsys.readouterr().out


def test_there_are_such_passes():
    assert len(NAMES) >= 4
