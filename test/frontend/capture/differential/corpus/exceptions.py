"""Raising and handling."""

import contextlib

import torch

from differential.program import program, rand


class Custom(ValueError):
    """Has an attribute."""

    def __init__(self, code, message="custom"):
        super().__init__(message)
        self.code = code


@program(rand(3))
def raises(x):
    raise ValueError("no")


@program(rand(3))
def raises_class(x):
    raise KeyError


@program(rand(3))
def raises_custom(x):
    raise Custom(7, f"shape {tuple(x.shape)}")


@program(rand(3), 1).then(rand(3), -1)
def raises_sometimes(x, n):
    if n < 0:
        raise ValueError(f"negative: {n}")
    return x + n


@program(rand(3))
def handled(x):
    try:
        raise ValueError("no")
    except ValueError as error:
        return x + 1, str(error), error.args


@program(rand(3))
def handled_by_base_class(x):
    try:
        {}["missing"]
    except LookupError:
        x = x * 2
    return x


@program(rand(3), 0).then(rand(3), 1).then(rand(3), 2)
def one_of_many_handlers(x, n):
    try:
        if n == 0:
            raise KeyError("k")
        if n == 1:
            raise TypeError("t")
    except (KeyError, IndexError) as error:
        return x, repr(error)
    except TypeError:
        return x + 1
    else:
        return x + 2


@program(rand(3))
def bare_except(x):
    try:
        raise RuntimeError
    except:
        return x - 1


@program(rand(3))
def finally_runs(x):
    log = []
    try:
        x = x + 1
    finally:
        log.append("finally")
    return x, log


@program(rand(3), [])
def finally_runs_when_raising(x, log):
    try:
        raise ValueError("v")
    finally:
        log.append("finally")


@program(rand(3))
def finally_overrides_return(x):
    def inner():
        try:
            return x
        finally:
            return x * 2

    return inner()


@program(rand(3))
def finally_with_break(x):
    for i in range(3):
        try:
            if i == 1:
                break
        finally:
            x = x + 10
    return x, i


@program(rand(3))
def finally_with_continue(x):
    for i in range(3):
        try:
            if i == 1:
                continue
            x = x + 1
        finally:
            x = x * 2
    return x


@program(rand(3))
def not_handled_by_other_type(x):
    try:
        raise TypeError("t")
    except ValueError:
        return x


@program(rand(3))
def reraised(x):
    try:
        raise ValueError("first")
    except ValueError:
        raise


@program(rand(3))
def reraised_and_caught(x):
    try:
        try:
            raise ValueError("first")
        except ValueError:
            x = x + 1
            raise
    except ValueError as error:
        return x, str(error)


@program(rand(3))
def raised_from(x):
    try:
        raise ValueError("inner")
    except ValueError as error:
        raise RuntimeError("outer") from error


@program(rand(3))
def raised_from_none(x):
    try:
        raise ValueError("inner")
    except ValueError:
        raise RuntimeError("outer") from None


@program(rand(3))
def raised_while_handling(x):
    try:
        raise ValueError("inner")
    except ValueError:
        raise RuntimeError("outer")


@program(rand(3))
def cause_is_read(x):
    try:
        try:
            raise ValueError("inner")
        except ValueError as error:
            raise RuntimeError("outer") from error
    except RuntimeError as error:
        return x, str(error.__cause__), type(error.__cause__) is ValueError


@program(rand(3))
def custom_is_handled(x):
    try:
        raise Custom(3)
    except Custom as error:
        return x + error.code, str(error), isinstance(error, ValueError)


@program(rand(3))
def raised_in_callee(x):
    def inner(n):
        if n > 2:
            raise IndexError(n)
        return inner(n + 1)

    try:
        inner(0)
    except IndexError as error:
        return x + error.args[0]


@program(rand(3))
def exception_as_value(x):
    errors = [ValueError("a"), KeyError("b")]
    return x, [str(e) for e in errors], errors[0], type(errors[1])


@program(rand(3))
def exception_is_stored(x):
    kept = None
    try:
        raise ValueError("kept")
    except ValueError as error:
        kept = error
    return x, kept.args


@program(rand(3))
def name_is_unbound_after_handler(x):
    try:
        raise ValueError
    except ValueError as error:
        repr(error)
    return error


@program(rand(3))
def handlers_in_a_loop(x):
    found = []
    for value in ["1", "x", "3"]:
        try:
            found.append(int(value))
        except ValueError as error:
            found.append(str(error))
    return x, found


@program(rand(3))
def nested_handlers(x):
    try:
        try:
            raise KeyError("a")
        except KeyError:
            raise ValueError("b")
        finally:
            x = x + 1
    except ValueError as error:
        x = x * 2
        context = type(error.__context__).__name__
    return x, context


@program(rand(3))
def pythons_own_errors(x):
    found = []
    for action in (
        lambda: 1 / 0,
        lambda: [][0],
        lambda: {}["k"],
        lambda: None.nope,
        lambda: 1 + "a",
        lambda: int("z"),
        lambda: len(3),
        lambda: x.shape(),
        lambda: list(range(3))["a"],
    ):
        try:
            action()
        except Exception as error:
            found.append((type(error).__name__, str(error)))
    return x, found


@program(rand(3), rand(4))
def error_of_torch(x, y):
    return x + y


@program(rand(3), rand(4))
def error_of_torch_is_caught(x, y):
    try:
        return x + y
    except RuntimeError:
        return x * 2


@program(rand(3), rand(4), [])
def effects_before_an_error_of_torch(x, y, log):
    log.append("before")
    z = x @ y
    log.append("after")
    return z


@program(rand(2, 3))
def error_of_a_method(x):
    return x.view(7)


@program(rand(3))
def error_of_index(x):
    return x[5]


@program(rand(3))
def error_of_dimension(x):
    return x.sum(dim=4)


@program(rand(3))
def tensor_has_no_attribute(x):
    return x.nope


@program(rand(3), [1])
def effects_before_raising(x, items):
    items.append(2)
    x.add_(1)
    raise ValueError(len(items))


@program(rand(3))
def assertion_with_message(x):
    assert x.shape[0] == 4, f"expected 4, got {x.shape[0]}"
    return x


@program(rand(3))
def assertion_is_caught(x):
    try:
        assert x.dim() == 2
    except AssertionError as error:
        return x, str(error)


@program(rand(3))
def suppressed(x):
    with contextlib.suppress(KeyError):
        x = x + 1
        {}["k"]
        x = x + 100
    return x


@program(rand(3))
def exception_groups(x):
    found = []
    try:
        raise ExceptionGroup("many", [ValueError("a"), TypeError("b")])
    except* ValueError as group:
        found.append([str(e) for e in group.exceptions])
    except* TypeError as group:
        found.append(len(group.exceptions))
    return x, found


@program(rand(3))
def notes(x):
    error = ValueError("v")
    error.add_note("a note")
    raise error


@program(rand(3))
def raises_what_is_no_exception(x):
    raise 3


@program(rand(3))
def recursion_without_end(x):
    def forever(n):
        return forever(n + 1)

    try:
        return forever(0)
    except RecursionError:
        return x + 1


@program(rand(3))
def exception_class_is_compared(x):
    def fails():
        raise torch.cuda.OutOfMemoryError("none")

    try:
        fails()
    except RuntimeError as error:
        return x, isinstance(error, torch.cuda.OutOfMemoryError)
