"""Random programs of views, writes and grad modes: eager's gradients."""

import girih
import hypothesis.strategies as st
import torch
from history_programs import RETURNED, STEPS, program, without_refused
from hypothesis import Phase, assume, event, given, settings
from program_gradients import assert_same_gradients, leaf, observe


def inputs(shape, needs):
    return [leaf(*shape, grad=needs[0]), leaf(*shape, seed=1, grad=needs[1])]


def eager_derives(function, tensors, order) -> bool:
    """Whether eager can go back: not where saved tensors were written."""
    try:
        observe(function, tensors, order)
    except RuntimeError:
        return False
    return True


NEEDS = st.sampled_from([(True, True), (True, True), (True, False)])
SHAPES = st.sampled_from([(3,), (2, 3), (3, 3), ()])


# Each try compiles: what the shrinker finds out afterwards takes minutes.
PHASES = (Phase.explicit, Phase.reuse, Phase.generate)


@settings(max_examples=100, deadline=None, phases=PHASES)
@given(STEPS, RETURNED, NEEDS, SHAPES, st.sampled_from([1]))
def test_like_eager(steps, returned, needs, shape, order):
    tensors = inputs(shape, needs)
    steps = without_refused(steps, tensors)
    function = program(steps, returned)
    assume(steps and eager_derives(function, tensors, order))
    reasons = assert_same_gradients(function, tensors, order=order, is_native=False)
    event("eager" if any(reasons) else "compiled")
