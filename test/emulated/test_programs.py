"""Random programs on an emulated GPU, compared with eager."""

import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from programs import programs

import girih


def bounded(examples):
    """Always the same programs."""
    return settings(
        max_examples=examples,
        deadline=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )


def run(program, dynamic):
    compiled = girih.compile(
        program.function(), fullgraph=True, dynamic=dynamic, options={"fallback": False}
    )
    with torch.no_grad():
        program.assert_right(compiled(*program.inputs))


@bounded(250)
@given(programs())
def test_static_sizes(program):
    run(program, dynamic=False)


@bounded(100)
@given(programs(max_steps=6))
def test_symbolic_sizes(program):
    run(program, dynamic=True)


@bounded(40)
@given(programs(max_steps=6), st.data())
def test_inputs_stay_as_they_were(program, data):
    before = [x.clone() for x in program.inputs]
    run(program, dynamic=data.draw(st.booleans()))
    for x, copy in zip(program.inputs, before, strict=True):
        assert torch.equal(x, copy)
