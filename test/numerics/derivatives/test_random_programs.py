"""Random programs with writes, views and control flow: gradients are eager's."""

import warnings

import torch
from extent import extent
from gradient_programs import gradient_programs
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import girih
from girih.codegen.runtime.kept import OverwrittenError
from girih.errors import UnsupportedError

TOLERANCE = 1e-8
# What is left to eager, which is told, and right then; all else has to be compiled.
# After a graph break arguments may share memory that the rest of the program writes. A
# view that is made and written without gradients requires one all the same, of what its
# base was made of.
LEFT_TO_EAGER = ("gradient of a result", "history of a detached view", "overlap")


def bounded(examples):
    """Always the same programs; ``fuzz.py`` draws others."""
    return settings(
        max_examples=examples,
        deadline=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )


def run(program, order: int, **options) -> None:
    """Compares a program with eager, called twice."""
    try:
        expected = program.observe(program.function(), order)
    except RuntimeError:
        # A leaf or something saved was written to: eager has no gradients.
        assume(False)
    finite = [v for v in expected if isinstance(v, torch.Tensor)]
    assume(all(v.isfinite().all() and v.abs().max() < 1e6 for v in finite))
    try:
        _compare(program, order, expected, {"fallback": False}, **options)
    except UnsupportedError as error:
        if error.kind not in LEFT_TO_EAGER:
            raise
        with warnings.catch_warnings(action="ignore", category=girih.FallbackWarning):
            _compare(program, order, expected, {})


def _compare(program, order: int, expected: list, settings: dict, **options) -> None:
    girih.reset()
    compiled = girih.compile(program.function(), options=settings, **options)
    for _ in range(2):
        try:
            observed = program.observe(compiled, order)
        except OverwrittenError:
            # A gradient of the second order needs an argument as it was before a
            # write; eager has kept what it computed from it.
            assume(False)
        _assert_same(observed, expected)


def _assert_same(actual: list, expected: list) -> None:
    assert len(actual) == len(expected)
    for number, (mine, theirs) in enumerate(zip(actual, expected, strict=True)):
        if isinstance(theirs, list):
            assert mine == theirs, "which results need gradients"
        elif isinstance(theirs, torch.Tensor) and isinstance(mine, torch.Tensor):
            scale = max(1.0, theirs.abs().max().item())
            error = (mine - theirs).abs().max().item()
            assert error <= TOLERANCE * scale, f"observation {number}: {error}"
        else:
            given = mine if theirs is None else theirs
            assert given is None, f"observation {number}: {mine} for {theirs}"


@bounded(extent(25, long=100))
@given(gradient_programs(on_data=False))
def test_first_order(program):
    run(program, 1, fullgraph=True)


@bounded(extent(12, long=50))
@given(gradient_programs(max_statements=5, on_data=False))
def test_second_order(program):
    run(program, 2, fullgraph=True)


@bounded(extent(12, long=50))
@given(gradient_programs())
def test_decisions_on_data(program):
    run(program, 1)


@bounded(extent(8, long=25))
@given(gradient_programs(max_statements=5), st.integers(1, 2))
def test_symbolic_sizes(program, order):
    run(program, order, dynamic=True)
