"""Exceptions: raised, chained, grouped, handled, from outside, and rebuilt."""

import pytest
from capture_differential import Cases, assert_same, check, compile_eagerly, rand
from exception_programs import (
    Missing,
    Own,
    Plain,
    Suppressing,
    broken,
    chain,
    parts,
)

case = Cases()
made = Cases()


@case(rand(3))
def texts(x):
    errors = [
        ValueError(),
        ValueError("a"),
        ValueError("a", 1),
        KeyError("k"),
        KeyError("k", 2),
        Own(3, detail=x),
        Plain(1, "r"),
        OSError(2, "no", "file"),
        OSError("text"),
        StopIteration(4),
        SystemExit(1, 2),
        ImportError("m", name="n"),
    ]
    return [(str(e), repr(e), e.args, type(e).__name__) for e in errors], x


@case(rand(3))
def attributes(x):
    own = Own(3, detail=x)
    system, file = SystemExit(1, 2), OSError(2, "no", "file")
    missing = Missing(2, "gone")
    return (
        own.code,
        own.detail,
        system.code,
        SystemExit(5).code,
        file.errno,
        file.filename,
        file.strerror,
        type(file),
        missing.errno,
        StopIteration(x).value,
        ImportError("m", name="n").name,
        ImportError("m").msg,
        AttributeError("m", name="n", obj=x).obj,
    )


@case(rand(3))
def keywords_that_nobody_takes(x):
    return ValueError(a=1), x


@case(rand(3))
def args_are_set(x):
    error = ValueError(1)
    error.args = [x, 2]
    error.extra = "e"
    return error.args, error.extra, error.__dict__


@case(rand(3))
def notes(x):
    error = ValueError("a")
    has_notes = hasattr(error, "__notes__")
    error.add_note("one")
    error.add_note("two")
    return has_notes, error.__notes__, x


@case(rand(3))
def note_that_is_no_text(x):
    ValueError().add_note(3)
    return x


@case(rand(3))
def cause(x):
    try:
        raise ValueError("v") from KeyError("k")
    except ValueError as error:
        return chain(error), x


@case(rand(3))
def cause_is_a_class(x):
    try:
        raise ValueError from KeyError
    except ValueError as error:
        return chain(error), x


@case(rand(3))
def cause_is_none(x):
    try:
        try:
            raise KeyError("k")
        except KeyError:
            raise ValueError("v") from None
    except ValueError as error:
        return chain(error), x


@case(rand(3))
def cause_is_wrong(x):
    raise ValueError from 3


@case(rand(3))
def context(x):
    try:
        try:
            try:
                raise KeyError("k")
            except KeyError:
                raise ValueError("v")  # noqa: B904
        finally:
            x = x + 1
    except ValueError as error:
        return chain(error), x


@case(rand(3))
def context_of_a_callee(x):
    def callee():
        try:
            raise TypeError("t")
        except TypeError as error:
            return chain(error)

    try:
        raise KeyError("k")
    except KeyError:
        return callee(), x


@case(rand(3))
def context_of_what_python_raises(x):
    try:
        try:
            raise KeyError("k")
        except KeyError:
            [][1]
    except IndexError as error:
        return chain(error), x


@case(rand(3))
def context_cycle_is_broken(x):
    one, two = ValueError("one"), ValueError("two")
    try:
        try:
            raise one
        except ValueError:
            raise two  # noqa: B904
    except ValueError:
        try:
            raise one  # noqa: B904
        except ValueError as error:
            return chain(error), chain(two), x


@case(rand(3))
def raised_again(x):
    try:
        try:
            raise ValueError("v")
        except ValueError:
            try:
                raise KeyError("k")  # noqa: B904
            except KeyError:
                pass
            raise
    except ValueError as error:
        return chain(error), x


@case(rand(3))
def raised_again_in_a_callee(x):
    def again():
        raise  # noqa: PLE0704

    try:
        try:
            raise ValueError("v")
        except ValueError:
            again()
    except ValueError as error:
        return str(error), x


@case(rand(3))
def raise_of_no_exception(x):
    raise 3  # noqa: B016


@case(rand(3))
def handler_names_no_class(x):
    try:
        raise ValueError
    except 3:  # noqa: B030
        return x


@case(rand(3))
def handler_with_tuple(x):
    try:
        raise Own(1)
    except (KeyError, ValueError) as error:
        return str(error), x


@case(rand(3))
def name_is_unbound_after(x):
    error = 1
    try:
        raise ValueError
    except ValueError as error:  # noqa: F841
        pass
    return error, x


@case(rand(3))
def finally_overrides(x):
    for _ in range(2):
        try:
            raise ValueError
        finally:
            continue  # noqa: B012
    return x


@case(rand(3))
def exit_suppresses(x):
    with Suppressing() as manager:
        raise ValueError("v")
    return manager.seen, x


class Failing:
    def __enter__(self):
        return self

    def __exit__(self, *args):
        raise TypeError("in exit")


@case(rand(3))
def exit_raises(x):
    try:
        with Failing():
            raise ValueError("v")
    except TypeError as error:
        return chain(error), x


@case(rand(3))
def error_of_a_folded_call(x):
    try:
        int("x")
    except ValueError as error:
        return error.args, x


@case(rand(3))
def structured_error_of_a_folded_call(x):
    try:
        b"\xff".decode("utf-8")
    except UnicodeDecodeError as error:
        return error.start, error.reason, error.object, str(error), x


@pytest.mark.parametrize("function, args, kwargs", case.parameters)
def test_same_as_plain(function, args, kwargs):
    check(function, *args, **kwargs)


# Left behind


@made()
def plain(x):
    return ValueError("a", 1)


@made()
def with_tensor(x):
    return KeyError(x)


@made()
def own(x):
    return Own(3, detail=x)


@made()
def without_call_of_super(x):
    return Plain(x, 2)


@made()
def system_error(x):
    return OSError(2, "no", "file")


@made()
def unicode_error(x):
    return UnicodeDecodeError("utf-8", b"abc", 1, 2, "reason")


@made()
def stop(x):
    return StopIteration(x)


@made()
def with_attributes(x):
    error = ValueError("a")
    error.extra = x
    error.add_note("note")
    error.args = (1, 2)
    return error


@made()
def chained(x):
    try:
        raise ValueError("v") from KeyError(x)
    except ValueError as error:
        return error


@made()
def with_context(x):
    try:
        try:
            raise KeyError("k")
        except KeyError:
            raise ValueError("v")  # noqa: B904
    except ValueError as error:
        return error


@made()
def cause_of_none(x):
    try:
        raise ValueError("v") from None
    except ValueError as error:
        return error


@made()
def group(x):
    inner = ExceptionGroup("in", [KeyError(x)])
    return ExceptionGroup("g", [ValueError(1), inner])


@made()
def attribute_error(x):
    return AttributeError("m", name="n", obj=x)


@pytest.mark.parametrize("make, args, kwargs", made.parameters)
def test_returned(make, args, kwargs):
    compiled = compile_eagerly(make)
    x = rand(3)
    for _ in range(2):
        assert_same(parts(compiled(x)), parts(make(x)))


@pytest.mark.parametrize("make, args, kwargs", made.parameters)
def test_alive_at_a_break(make, args, kwargs):
    def around(x):
        error = make(x + 1)
        assert broken()
        return x + 1, error

    compiled = compile_eagerly(around, fullgraph=False)
    x = rand(3)
    for _ in range(2):
        value, error = compiled(x)
        assert_same((value, parts(error)), (x + 1, parts(make(x + 1))))
