"""Random programs from the native ops, compared with eager."""

import torch
from extent import extent
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from programs import Program, programs

import girih


def bounded(examples):
    """Always the same programs; ``fuzz.py`` draws others."""
    return settings(
        max_examples=examples,
        deadline=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )


def run(program: Program, dynamic: bool) -> None:
    """Compiles a program, calls it twice, and compares with eager."""
    compiled = girih.compile(
        program.function(), fullgraph=True, dynamic=dynamic, options={"fallback": False}
    )
    with torch.no_grad():
        for _ in range(2):
            program.assert_right(compiled(*program.inputs))


@bounded(extent(50, long=250))
@given(programs())
def test_static_sizes(program):
    run(program, dynamic=False)


@bounded(extent(25, long=100))
@given(programs(max_steps=6))
def test_symbolic_sizes(program):
    run(program, dynamic=True)


@bounded(extent(15, long=60))
@given(programs(max_steps=6), st.data())
def test_inputs_stay_as_they_were(program, data):
    before = [x.clone() for x in program.inputs]
    run(program, dynamic=data.draw(st.booleans()))
    for x, copy in zip(program.inputs, before, strict=True):
        assert torch.equal(x, copy)
