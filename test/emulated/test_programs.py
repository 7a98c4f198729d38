"""Random programs on an emulated GPU, compared with eager."""

import torch
from extent import extent
from gradient_programs import gradient_programs
from hypothesis import HealthCheck, assume, given, settings
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


def run(program, dynamic, **options):
    options = {"fallback": False, **options}
    compiled = girih.compile(
        program.function(), fullgraph=True, dynamic=dynamic, options=options
    )
    with torch.no_grad():
        program.assert_right(compiled(*program.inputs))


@bounded(extent(40, long=250))
@given(programs())
def test_static_sizes(program):
    run(program, dynamic=False)


@bounded(extent(20, long=100))
@given(programs(max_steps=6))
def test_symbolic_sizes(program):
    run(program, dynamic=True)


@bounded(extent(10, long=40))
@given(programs(max_steps=6), st.data())
def test_inputs_stay_as_they_were(program, data):
    before = [x.clone() for x in program.inputs]
    run(program, dynamic=data.draw(st.booleans()))
    for x, copy in zip(program.inputs, before, strict=True):
        assert torch.equal(x, copy)


@bounded(extent(8, long=25))
@given(gradient_programs(on_data=False))
def test_gradients_and_writes(program):
    assert_observed(program)


def assert_observed(program, **options):
    """Results, gradients and writes are eager's."""
    try:
        expected = program.observe(program.function(), 1)
    except RuntimeError:  # something saved was written to: eager has no gradients
        assume(False)
    girih.reset()
    options = {"fallback": False, **options}
    compiled = girih.compile(program.function(), options=options)
    try:
        actual = program.observe(compiled, 1)
    except girih.UnsupportedError:  # left to eager, which needs no device
        assume(False)
    torch.testing.assert_close(
        *(
            [v for v in values if isinstance(v, torch.Tensor)]
            for values in (actual, expected)
        ),
        rtol=1e-8,
        atol=1e-8,
        equal_nan=True,
    )


@bounded(extent(40, long=250))
@given(programs(), st.integers(0, 1 << 20), st.booleans())
def test_random_decisions(program, seed, dynamic):
    """Of all passes that have a choice: also what the blocks of kernels are."""
    run(program, dynamic, choices_seed=seed)


@bounded(extent(8, long=25))
@given(gradient_programs(on_data=False), st.integers(0, 1 << 20))
def test_gradients_under_random_decisions(program, seed):
    assert_observed(program, choices_seed=seed)
