"""Exceptions: raised, chained, grouped, handled, from outside, and rebuilt."""

import os
import traceback

import pytest
from capture_differential import Cases, assert_same, check, compile_eagerly, rand

case = Cases()
made = Cases()


def broken():
    """A C function that nobody models: the graph breaks here."""
    return os.getpid() > 0


class Own(ValueError):
    def __init__(self, code, *, detail=None):
        super().__init__(f"code {code}")
        self.code = code
        self.detail = detail

    def __str__(self):
        return f"<{self.code}: {self.args[0]}>"


class Plain(Exception):
    def __init__(self, left, right):
        self.left = left


class Missing(FileNotFoundError):
    pass


def chain(error, depth=5):
    """An exception with what it is chained to."""
    if error is None or depth == 0:
        return None
    return (
        type(error).__name__,
        str(error),
        chain(error.__cause__, depth - 1),
        chain(error.__context__, depth - 1),
        error.__suppress_context__,
    )


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


class Suppressing:
    seen = None

    def __enter__(self):
        return self

    def __exit__(self, kind, value, traceback):
        self.seen = kind.__name__, str(value), traceback is None
        return True


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


# Groups


def shown(error):
    """An exception, and what is in it."""
    if isinstance(error, BaseExceptionGroup):
        inner = [shown(e) for e in error.exceptions]
        return type(error).__name__, error.message, inner
    return None if error is None else repr(error)


def raise_group(*errors, message="group"):
    """Raises a group."""
    raise ExceptionGroup(message, list(errors))


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


def parts(error):
    """All that can be seen of an exception, but its traceback."""
    if error is None:
        return None
    return (
        type(error),
        list(error.args) if not hasattr(error, "exceptions") else error.message,
        [parts(e) for e in getattr(error, "exceptions", ())],
        dict(vars(error)),
        str(error) if not isinstance(error, (KeyError, ExceptionGroup)) else "",
        [getattr(error, n, 0) for n in ("errno", "filename", "start", "value", "obj")],
        parts(error.__cause__),
        parts(error.__context__),
        error.__suppress_context__,
    )


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


# In resumed code


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


@pytest.mark.parametrize(
    "error", [ValueError(1, "a"), Own(2), OSError(2, "x", "f"), chained(1)]
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
