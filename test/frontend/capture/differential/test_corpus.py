"""Each program of the corpus: plain, captured, and compiled."""

import sys

import pytest
from extent import IS_LONG, extent

from differential import coverage, session
from differential.known_failures import KNOWN_FAILURES
from differential.program import load

PROGRAMS = load()
GRAPHS = coverage.graphs()

# Since CPython 3.13 a comparison and the question whether it is true are one
# instruction; where the answer depends on data Python runs both.
COMPARED_BY_PYTHON = {
    "breaks_kinds.truth_of_a_tensor": 1,
    "data_dependent.assertion_on_value_fails": 1,
    "data_dependent.branch_on_value": 1,
    "data_dependent.break_in_a_loop": 2,
    "data_dependent.rows_by_condition": 2,
    "data_dependent.while_on_value": 4,
    "state_at_breaks.argument_is_written_after_no_grad": 1,
    "state_at_breaks.attention_kernels": 1,
    "state_at_breaks.autocast": 1,
    "state_at_breaks.autocast_without_grad": 1,
    "state_at_breaks.both_branches_have_code": 1,
    "state_at_breaks.callee_is_called_in_a_region": 2,
    "state_at_breaks.decorated_callee": 1,
    "state_at_breaks.default_dtype": 1,
    "state_at_breaks.deterministic_algorithms": 1,
    "state_at_breaks.exception_leaves_the_function": 1,
    "state_at_breaks.exception_leaves_the_region": 1,
    "state_at_breaks.generator_has_a_region": 1,
    "state_at_breaks.inference_mode": 1,
    "state_at_breaks.leaf_is_updated_at_both_sides": 1,
    "state_at_breaks.loop_around": 4,
    "state_at_breaks.loop_inside": 2,
    "state_at_breaks.many_regions_are_left_by_an_exception": 1,
    "state_at_breaks.nested_regions": 2,
    "state_at_breaks.out_of_inference_mode": 2,
    "state_at_breaks.own_manager": 2,
    "state_at_breaks.returns_out_of_the_region": 1,
    "state_at_breaks.set_grad_enabled_as_a_region": 3,
    "state_at_breaks.set_grad_enabled_is_called_in_a_branch": 2,
    "state_at_breaks.write_after_no_grad": 1,
    "state_at_breaks.writes_inside_and_after_no_grad": 1,
}
if sys.version_info < (3, 13):
    COMPARED_BY_PYTHON.clear()

# One graph serves two numbers, 0 among them.
SERVES_MORE = {"breaks_loops.over_a_user_iterator_that_breaks": 1}
# Python removes a hook: graphs that contain its number would serve one call.
LEFT_TO_PYTHON = {"module_state.hook_is_added_and_removed": 1}


def _parameters():
    for name, program in PROGRAMS.items():
        marks = []
        if name in KNOWN_FAILURES:
            reason = KNOWN_FAILURES[name]
            marks = [pytest.mark.xfail(strict=True, reason=reason)]
        yield pytest.param(program, id=name, marks=marks)


def test_there_are_many():
    assert len(PROGRAMS) >= 1300


def test_tables_name_programs():
    assert sorted(KNOWN_FAILURES.keys() - PROGRAMS.keys()) == []
    assert sorted(GRAPHS.keys() - PROGRAMS.keys()) == []


@pytest.mark.whole
@pytest.mark.parametrize("program", list(_parameters()))
def test_same_as_plain(program):
    # The other test runs all calls captured and not compiled; not where it may fail.
    is_both = IS_LONG or program.name in KNOWN_FAILURES
    session.check(program, session.BACKENDS if is_both else session.BACKENDS[1:])


# The short form varies the arguments of every other program.
VARIED = list(PROGRAMS.values())[:: extent(2, long=1)]


@pytest.mark.parametrize("program", VARIED, ids=lambda p: p.name)
def test_same_with_varied_arguments(program):
    session.check_varied(program, extent(1, long=session.VARIATIONS))


# And counts the graphs of the others.
COUNTED = list(PROGRAMS.values())[extent(1, long=0) :: extent(2, long=1)]


@pytest.mark.parametrize("program", COUNTED, ids=lambda p: p.name)
def test_graphs(program):
    is_whole = session.captures_whole(program)
    coverage.note(program.family, is_whole)
    if is_whole is False:
        assert program.name in GRAPHS, "not in one graph"
        known, found = GRAPHS[program.name], session.count_graphs(program)
        coverage.note_graphs(found)
        fewer = COMPARED_BY_PYTHON | SERVES_MORE
        assert found.operations >= known[1] - fewer.get(program.name, 0)
        more = LEFT_TO_PYTHON.get(program.name, 0)
        assert found.graphs <= known[0] + more or not known[0]
