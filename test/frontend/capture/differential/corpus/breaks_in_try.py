"""Breaks inside ``try``: handlers and exceptions are still there."""

import contextlib
import sys
import traceback

import torch

from differential.program import program, rand


def fails(kind=ValueError, text="asked for"):
    print("fails")
    raise kind(text)


def lines(error):
    """Functions of a traceback that are of this file."""
    frames = traceback.extract_tb(error.__traceback__)
    return [(f.name, f.lineno) for f in frames if f.filename == __file__]


@program(rand(3)).graphs(3)
def in_try(x):
    try:
        x = x + 1
        print("try")
        x = x * 2
    except ValueError:
        x = x * 100
    else:
        x = x - 1
    finally:
        x = x + 5
    return x


@program(rand(3))
def in_every_part(x):
    log = []
    for fail in (False, True):
        try:
            print("try")
            x = x + 1
            if fail:
                raise ValueError("v")
        except ValueError as error:
            print("except", error)
            x = x * 2
        else:
            print("else")
            x = x - 1
        finally:
            print("finally")
            x = x + 5
        log.append(x)
    return log


@program(rand(3))
def broken_instruction_raises(x):
    y = x + 1
    try:
        fails()
    except ValueError as error:
        y = y * 2
        caught = str(error), lines(error)
    return y, caught


@program(rand(3))
def broken_instruction_raises_out(x):
    y = x + 1
    fails(KeyError, "out")
    return y


@program(rand(3))
def raises_after_a_break(x):
    y = x + 1
    print("before")
    y = y * 2
    raise ValueError("after", y.shape)


@program(rand(3))
def caught_in_the_caller(x):
    def inner(v):
        v = v + 1
        print("inner")
        raise ValueError("from inner")

    try:
        inner(x)
    except ValueError as error:
        return x * 2, str(error), lines(error)


@program(rand(3))
def caught_two_callers_up(x):
    def innermost(v):
        print("innermost")
        return [][v.dim()]

    def middle(v):
        try:
            return innermost(v + 1)
        finally:
            print("middle")

    try:
        return middle(x)
    except IndexError as error:
        return x * 2, str(error), lines(error)


@program(rand(3))
def raised_again(x):
    try:
        try:
            fails()
        except ValueError:
            x = x + 1
            print("again")
            raise
    except ValueError as error:
        return x * 2, str(error), lines(error), error.__context__


@program(rand(3))
def raised_from(x):
    try:
        try:
            fails()
        except ValueError as cause:
            print("from")
            raise KeyError("k") from cause
    except KeyError as error:
        return x + 1, error, error.__cause__, error.__suppress_context__


@program(rand(3))
def raised_while_handling(x):
    try:
        try:
            raise ValueError("first")
        except ValueError:
            print("handling")
            {}["missing"]
    except KeyError as error:
        return x + 1, error, error.__context__


@program(rand(3))
def raised_from_none(x):
    try:
        fails()
    except ValueError:
        print("hidden")
        raise RuntimeError("only this") from None


@program(rand(3))
def nested_handlers(x):
    log = []
    try:
        print("a")
        try:
            fails(TypeError)
        except ValueError:
            log.append("wrong")
        finally:
            print("inner finally")
            log.append("finally")
    except (KeyError, TypeError) as error:
        log.append(type(error))
        try:
            fails(KeyError)
        except KeyError as second:
            log.append(second.__context__ is error)
    return x + len(log), log


@program(rand(3))
def exception_info_is_read_after_a_break(x):
    before = sys.exc_info()
    try:
        raise ValueError("v")
    except ValueError as error:
        print("handling")
        info = sys.exc_info()
        same = info[1] is error, info[0], sys.exception() is error
        y = x + 1
    return y, same, before, sys.exc_info()


@program(rand(3))
def bare_raise_after_a_break(x):
    try:
        raise ValueError("v")
    except ValueError:
        y = x + 1
        print("handling")
        y = y * 2
        raise


@program(rand(3))
def error_name_is_deleted(x):
    try:
        fails()
    except ValueError as error:
        print(error)
    try:
        return error
    except UnboundLocalError as missing:
        return x + 1, str(missing)


@program(rand(3))
def return_in_finally(x):
    try:
        print("try")
        raise ValueError("lost")
    finally:
        print("finally")
        return x + 1


@program(rand(3))
def return_through_finally(x):
    log = []

    def inner():
        try:
            print("try")
            return x + 1
        finally:
            print("finally")
            log.append("finally")

    return inner(), log


@program(rand(3))
def finally_changes_what_is_returned(x):
    items = [x]
    try:
        return items
    finally:
        print("finally")
        items.append(x + 1)


@program(rand(3))
def break_and_continue_through_finally(x):
    log = []
    for i in range(4):
        try:
            print("try", i)
            if i == 1:
                continue
            if i == 2:
                break
            x = x + 1
        finally:
            print("finally", i)
            log.append(i)
    return x, log


@program(rand(3))
def try_in_a_loop_with_breaks(x):
    log = []
    for i in range(3):
        try:
            x = x + i
            if i == 1:
                fails()
            print("ok", i)
        except ValueError:
            log.append(i)
            x = x * 2
    return x, log


@program(rand(3))
def retries(x):
    tries = 0
    while True:
        try:
            tries += 1
            if tries < 3:
                fails()
            break
        except ValueError:
            continue
    return x * tries


@program(rand(3))
def exception_groups(x):
    log = []
    try:
        x = x + 1
        print("before")
        raise ExceptionGroup("many", [ValueError("v"), KeyError("k"), TypeError("t")])
    except* ValueError as group:
        print("values")
        log.append([str(e) for e in group.exceptions])
        x = x * 2
    except* (KeyError, TypeError) as group:
        print("others")
        log.append(len(group.exceptions))
    finally:
        print("finally")
    return x, log


@program(rand(3))
def exception_groups_are_passed_on(x):
    try:
        try:
            print("inside")
            raise ExceptionGroup("many", [ValueError("v"), KeyError("k")])
        except* ValueError:
            print("value")
            x = x + 1
    except ExceptionGroup as rest:
        return x * 2, rest.message, [type(e) for e in rest.exceptions]


@program(rand(3))
def error_of_torch_after_a_break(x):
    y = x + 1
    print("before")
    try:
        return y + torch.ones(7)
    except RuntimeError as error:
        return y * 2, type(error)


@program(rand(3))
def error_of_torch_leaves_after_a_break(x):
    y = x + 1
    print("before")
    return y @ torch.ones(7)


@program(rand(3))
def error_of_item(x):
    y = x + 1
    try:
        return y.item()
    except RuntimeError as error:
        return y * 2, str(error)


@program(rand(3))
def error_of_truth(x):
    y = x + 1
    if y:
        return y * 2
    return y


@program(rand(3))
def stop_iteration_of_next(x):
    numbers = iter([1])
    next(numbers)
    print("empty")
    try:
        next(numbers)
    except StopIteration as stop:
        return x + 1, stop.value
    return x


@program(rand(3))
def assertion_fails_after_a_break(x):
    y = x + 1
    print("before")
    assert y.shape[0] == 7, f"shape {tuple(y.shape)}"
    return y


@program(rand(3))
def effects_before_an_exception_stay(x):
    log = [0]
    try:
        log.append(1)
        x.add_(1)
        print("break")
        log.append(2)
        x.mul_(2)
        raise ValueError
    except ValueError:
        log.append(3)
    return x, log


@program(rand(3), [], {}).then(rand(3), [1], {"a": 1})
def effects_on_arguments_before_an_exception(x, log, table):
    log.append(len(table))
    x.add_(1)
    print("break")
    table["b"] = x * 2
    log.append(2)
    raise ValueError(len(log))


@program(rand(3))
def format_of_a_traceback(x):
    def inner(v):
        print("inner")
        raise KeyError(v)

    y = x + 1
    try:
        inner(y.shape[0])
    except KeyError:
        text = traceback.format_exc()
    return y * 2, [line for line in text.splitlines() if "girih" not in line][-1]


@program(rand(3))
def exception_made_before_a_break_is_raised_in_with(x):
    @contextlib.contextmanager
    def swallowing():
        try:
            yield
        except ValueError as error:
            seen.append((error, lines(error)))

    seen = []
    with swallowing():
        raise ValueError("made before") from ZeroDivisionError(print("break"))
    with swallowing():
        made = ValueError("kept"), print("break")
        raise made[0]
    return x + 1, seen


@program(rand(3), ValueError("argument")).then(rand(3), KeyError("other"))
def exception_argument_is_raised(x, error):
    try:
        raise error
    except ValueError as caught:
        print(caught)
        first = caught is error, lines(caught)
    try:
        raise error
    except ValueError as caught:
        return x + 1, first, lines(caught)
