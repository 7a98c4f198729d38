"""Writes of memory that overlaps itself or what is read: eager's error or its value.

The long form tries all operators of torch's table, in place and with ``out=``.
"""

import operator_calls
import overlapping_writes
import pytest
import torch
from extent import IS_LONG, extent

TABLE = operator_calls.table()
SHORT = ("add", "addmm", "cumsum", "index_copy", "lerp", "sort", "square")
WAYS = extent(
    ((True, None), (False, None)), long=((True, None), (False, None), (True, True))
)


@pytest.mark.parametrize("entrance", operator_calls.COMPILERS if IS_LONG else ["girih"])
@pytest.mark.parametrize("name", extent(SHORT, long=tuple(TABLE)))
def test_as_in_eager(name, entrance):
    found = []
    for case in overlapping_writes.overlaps(name, TABLE[name], 1):
        for way in WAYS:
            if problem := overlapping_writes.difference(case, entrance, *way):
                found.append(f"{case.label} {way}: {problem}")
    assert not found, "\n".join(found)


def test_the_short_form_has_what_eager_refuses_and_what_it_takes():
    kinds = set()
    for name in SHORT:
        for case in overlapping_writes.overlaps(name, TABLE[name], 1):
            _, given = case.inputs(is_inside=True)
            kinds.add(operator_calls.outcome(case.function, given)[0])
    assert kinds == {"raises", "gives"}


def test_the_comparison_finds_a_write_that_is_not_refused(monkeypatch):
    case = next(overlapping_writes.overlaps("add", TABLE["add"], 1))

    def wrong(function, *_):
        return lambda memory, *others: torch.zeros(3)

    monkeypatch.setattr(overlapping_writes, "compiled", wrong)
    assert overlapping_writes.difference(case, "girih", True, None)
