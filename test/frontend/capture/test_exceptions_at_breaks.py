"""Exceptions before, at and after graph breaks, against Python."""

import os
import traceback

import pytest
from capture_differential import assert_same, check, compile_eagerly, rand
from exception_programs import (
    Own,
    Suppressing,
    broken,
    chain,
    parts,
    raise_group,
    shown,
)


def in_a_handler(x):
    try:
        raise ValueError("v", 2)
    except ValueError as error:
        x = x + len(error.args)
        assert broken()
        return x * 2, str(error), error.args


def break_raises(x):
    try:
        x = x + 1
        int.from_bytes("no")
    except (KeyError, TypeError) as error:
        return x * 2, type(error).__name__
    finally:
        x += 1


def break_raises_and_is_raised_again(x):
    try:
        try:
            x = x + 1
            os.stat("/no/such/file")
        except OSError:
            x = x * 2
            raise
    except FileNotFoundError as error:
        return x, error.errno, error.filename


def break_raises_and_is_the_cause(x):
    try:
        try:
            os.stat("/no/such/file")
        except OSError as error:
            x = x * 2
            raise ValueError("v", x) from error
    except ValueError as error:
        return x + 1, chain(error), error.__cause__ is error.__context__


def break_in_a_with(x):
    with Suppressing() as manager:
        x = x + 1
        os.stat("/no/such/file")
    return x * 2, manager.seen[0]


def break_in_finally(x):
    try:
        try:
            raise KeyError("k")
        finally:
            x = x + 1
            assert broken()
            x = x * 2
    except KeyError as error:
        return x, str(error)


def break_in_nested_handlers(x):
    try:
        raise KeyError("k")
    except KeyError as first:
        try:
            raise ValueError("v")  # noqa: B904
        except ValueError as second:
            assert broken()
            x = x + 1
            pair = chain(first), chain(second)
        try:
            raise  # noqa: PLE0704
        except KeyError as third:
            return x, pair, third is first


def break_in_a_star_clause(x):
    log = []
    try:
        try:
            raise_group(ValueError(1), KeyError(2), OSError(3))
        except* ValueError as group:
            x = x + 1
            assert broken()
            log.append(shown(group))
        except* KeyError as group:
            log.append(shown(group))
            raise
    except ExceptionGroup as error:
        return x * 2, log, shown(error)


def note_on_one_from_outside(x):
    try:
        os.stat("/no/such/file")
    except OSError as error:
        error.add_note("note")
        error.seen = x + 1
        return x, error.__notes__, error.seen


@pytest.mark.parametrize(
    "function",
    [
        in_a_handler,
        break_raises,
        break_raises_and_is_raised_again,
        break_raises_and_is_the_cause,
        break_in_a_with,
        break_in_finally,
        break_in_nested_handlers,
        break_in_a_star_clause,
        note_on_one_from_outside,
    ],
)
def test_resumed(function):
    check(function, rand(3), fullgraph=False, calls=3)


def fails_deeply(x, depth):
    if depth == 0:
        raise ValueError(
            "deep",
        )
    return [fails_deeply(x * 2, depth - 1) for _ in range(1)]


def formats(x):
    try:
        return fails_deeply(x, 2)
    except ValueError:
        x = x + 1
        return x, traceback.format_exc().splitlines()[1:]


def leaves_after_a_break(x):
    try:
        try:
            fails_deeply(x + 1, 1)
        finally:
            assert broken()
    except ValueError as error:
        x = x + len(error.args)
        assert broken()
        raise


def test_tracebacks_have_lines_and_carets():
    x = rand(3)
    formatting = compile_eagerly(formats, fullgraph=False)
    leaving = compile_eagerly(leaves_after_a_break, fullgraph=False)
    for _ in range(2):
        assert_same(formatting(x), formats(x))
        with pytest.raises(ValueError, match="deep") as plain:
            leaves_after_a_break(x)
        with pytest.raises(ValueError, match="deep") as captured:
            leaving(x)
        ours, theirs = (
            traceback.format_list(traceback.extract_tb(info.tb)[1:])
            for info in (captured, plain)
        )
        assert ours == theirs


def handles(error, x):
    try:
        raise error
    except KeyError as caught:
        return x + 1, caught is error, caught.args
    except ValueError:
        return x + 2


@pytest.mark.parametrize("error", [KeyError(1), ValueError("v"), TypeError()])
def test_argument_is_raised(error):
    compiled = compile_eagerly(handles, fullgraph=False)
    x = rand(3)
    for _ in range(2):
        if isinstance(error, TypeError):
            with pytest.raises(TypeError) as info:
                compiled(error, x)
            assert info.value is error
        else:
            assert_same(compiled(error, x), handles(error, x))


def reads(error):
    return error.args, str(error), chain(error), getattr(error, "code", None)


def with_cause():
    error = ValueError("effect")
    error.__cause__ = KeyError("cause")
    return error


@pytest.mark.parametrize(
    "error", [ValueError(1, "a"), Own(2), OSError(2, "x", "f"), with_cause()]
)
def test_argument_is_read(error):
    compiled = compile_eagerly(reads)
    for _ in range(2):
        assert_same(compiled(error), reads(error))


def test_argument_is_changed():
    def change(error, x):
        error.args = (1,)
        error.extra = x + 1
        error.__cause__ = KeyError("k")
        error.add_note("n")
        return x + 1

    compiled = compile_eagerly(change)
    for _ in range(2):
        mine, theirs = ValueError("a"), ValueError("a")
        x = rand(3)
        compiled(mine, x)
        change(theirs, x)
        assert_same(parts(mine), parts(theirs))


def test_other_arguments_of_an_exception_are_seen():
    def second(error, x):
        return x + error.args[1]

    compiled = compile_eagerly(second)
    x = rand(3)
    for number in (1, 2, 2.5):
        error = ValueError("a", number)
        assert_same(compiled(error, x), second(error, x))
