"""Exception groups and ``except*``, against Python."""

import pytest
from capture_differential import Cases, check, rand
from exception_programs import (
    Own,
    chain,
    raise_group,
    shown,
)

case = Cases()


def starred(action, x):
    """What the clauses see, and what is left."""
    log = []
    try:
        try:
            action()
        except* ValueError as group:
            log.append(("value", shown(group)))
        except* (KeyError, TypeError) as group:
            log.append(("key", shown(group)))
    except BaseException as error:
        log.append(("left", shown(error)))
    return log, x


@case(rand(3))
def groups(x):
    group = ExceptionGroup("g", [ValueError(1), ExceptionGroup("h", [KeyError(2)])])
    base = BaseExceptionGroup("b", [ValueError(1)])
    return (
        str(group),
        group.message,
        shown(group),
        shown(base),
        [shown(part) for part in group.split(KeyError)],
        shown(group.subgroup(lambda e: isinstance(e, ValueError))),
        [shown(part) for part in group.split(OSError)],
        shown(group.derive([TypeError()])),
        shown(BaseExceptionGroup("b", [KeyboardInterrupt()])),
        x,
    )


@case(rand(3))
def empty_group(x):
    return ExceptionGroup("g", []), x


@case(rand(3))
def group_of_no_exceptions(x):
    return ExceptionGroup("g", [1]), x


@case(rand(3))
def group_of_base_exceptions(x):
    return ExceptionGroup("g", [KeyboardInterrupt()]), x


@case(rand(3))
def all_is_handled(x):
    return starred(lambda: raise_group(ValueError(1), KeyError(2), Own(3)), x)


@case(rand(3))
def something_is_left(x):
    return starred(lambda: raise_group(ValueError(1), OSError(2)), x)


@case(rand(3))
def nothing_matches(x):
    return starred(lambda: raise_group(OSError(2)), x)


@case(rand(3))
def nested_groups(x):
    inner = ExceptionGroup("in", [ValueError(1), OSError(2)])
    return starred(lambda: raise_group(inner, KeyError(3), TypeError(4)), x)


@case(rand(3))
def single_exception(x):
    def fail(error):
        raise error

    return (
        starred(lambda: fail(ValueError(1)), x),
        starred(lambda: fail(OSError(1)), x),
        starred(lambda: None, x),
    )


@case(rand(3))
def raised_in_clauses(x):
    def outer():
        try:
            raise_group(ValueError(1), KeyError(2), OSError(3))
        except* ValueError:
            raise TypeError("new")  # noqa: B904
        except* KeyError:
            raise

    try:
        outer()
    except ExceptionGroup as error:
        return shown(error), x


@case(rand(3))
def raised_again_in_a_clause(x):
    try:
        try:
            raise_group(ValueError(1), OSError(3))
        except* ValueError:
            raise
    except ExceptionGroup as error:
        return shown(error), x


@case(rand(3))
def star_with_group(x):
    try:
        try:
            raise ValueError
        except* ExceptionGroup:
            pass
    except TypeError as error:
        return str(error), x


@case(rand(3))
def split_keeps_chaining(x):
    group = ExceptionGroup("g", [ValueError(1), KeyError(2)])
    group.__cause__ = TypeError("cause")
    group.add_note("note")
    match, rest = group.split(ValueError)
    return chain(match), chain(rest), match.__notes__, x


@pytest.mark.parametrize("function, args, kwargs", case.parameters)
def test_same_as_plain(function, args, kwargs):
    check(function, *args, **kwargs)
