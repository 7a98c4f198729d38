"""Random programs of views, writes and grad modes: eager's gradients."""

import hypothesis.strategies as st
from history_programs import RETURNED, STEPS, program, without_refused
from hypothesis import Phase, assume, event, given, settings
from program_gradients import Observation, assert_same_gradients, leaf, observe

NEEDS = st.sampled_from([(True, True), (True, True), (True, False)])
SHAPES = st.sampled_from([(3,), (2, 3), (3, 3), ()])

# Each try compiles: what the shrinker finds out afterwards takes minutes.
PHASES = (Phase.explicit, Phase.reuse, Phase.generate)


def derived_by_eager(function, tensors, order) -> Observation | None:
    """What eager gives; None where it can't go back: saved tensors were written."""
    try:
        return observe(function, tensors, order)
    except RuntimeError:
        return None


@settings(max_examples=100, deadline=None, phases=PHASES)
@given(STEPS, RETURNED, NEEDS, SHAPES, st.sampled_from([1, 1, 2]))
def test_like_eager(steps, returned, needs, shape, order):
    tensors = [leaf(*shape, seed=i, grad=need) for i, need in enumerate(needs)]
    steps = without_refused(steps, tensors)
    function = program(steps, returned)
    expected = derived_by_eager(function, tensors, order)
    assume(steps and expected is not None)
    # Gradients of gradients by arguments that the program writes are refused.
    assume(order == 1 or not any(x._version for x in expected.inputs))
    reasons = assert_same_gradients(function, tensors, order=order, is_native=False)
    event("eager" if any(reasons) else "compiled")
