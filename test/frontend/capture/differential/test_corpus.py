"""Each program of the corpus: plain, captured, and compiled."""

import pytest

from differential import coverage, session
from differential.known_failures import KNOWN_FAILURES
from differential.program import load

PROGRAMS = load()
GRAPHS = coverage.graphs()


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


@pytest.mark.parametrize("program", list(_parameters()))
def test_same_as_plain(program):
    session.check(program)


@pytest.mark.parametrize("program", list(PROGRAMS.values()), ids=lambda p: p.name)
def test_same_with_varied_arguments(program):
    session.check_varied(program)


@pytest.mark.parametrize("program", list(PROGRAMS.values()), ids=lambda p: p.name)
def test_graphs(program):
    is_whole = session.captures_whole(program)
    coverage.note(program.family, is_whole)
    if is_whole is False:
        assert program.name in GRAPHS, "not in one graph"
        known, found = GRAPHS[program.name], session.count_graphs(program)
        coverage.note_graphs(found)
        assert found.operations >= known[1]
        assert found.graphs <= known[0] or not known[0]
