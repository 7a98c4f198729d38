"""Breaks inside ``with``: managers and torch's modes are still there."""

import contextlib
import traceback

import torch

from differential.program import program, rand


class Scope:
    """Logs; may swallow exceptions."""

    def __init__(self, log, swallow=False):
        self.log = log
        self.swallow = swallow

    def __enter__(self):
        self.log.append("enter")
        return len(self.log)

    def __exit__(self, kind, error, trace):
        self.log.append(kind.__name__ if kind else "exit")
        return self.swallow


class Loud(Scope):
    """Breaks when it is entered and left."""

    def __enter__(self):
        print("enter")
        return super().__enter__()

    def __exit__(self, *args):
        print("exit", args[0])
        return super().__exit__(*args)


@contextlib.contextmanager
def bracketed(log, name):
    log.append(f"<{name}")
    try:
        yield name
    finally:
        log.append(f"{name}>")


@contextlib.contextmanager
def loud(name):
    print("<", name)
    try:
        yield
    except ValueError as error:
        print("swallowed", error)
    finally:
        print(name, ">")


def fails(kind=ValueError, text="asked for"):
    print("fails")
    raise kind(text)


def lines(error):
    """Functions of a traceback that are of this file."""
    frames = traceback.extract_tb(error.__traceback__)
    return [(f.name, f.lineno) for f in frames if f.filename == __file__]


@program(rand(3)).graphs(3)
def user_manager(x):
    log = []
    with Scope(log) as n:
        x = x + n
        print("inside")
        x = x * 2
    log.append("after")
    return x, log


@program(rand(3), [])
def manager_over_an_argument(x, log):
    with Scope(log):
        x = x + 1
        print(log)
        log.append("inside")
        x = x * 2
    return x + len(log)


@program(rand(3))
def loud_manager(x):
    log = []
    with Loud(log) as n:
        x = x + n
    with Loud(log, swallow=True):
        x = x * 2
        raise ValueError("gone")
    return x, log


@program(rand(3))
def nested_managers(x):
    log = []
    with Scope(log) as a, bracketed(log, "b") as b:
        print("outer")
        with Scope(log) as c:
            x = x + a
            print("inner", b)
            x = x * c
        x = x - 1
        print("outer again")
    return x, log


@program(rand(3))
def manager_of_a_generator(x):
    log = []
    with bracketed(log, "a") as name:
        x = x + 1
        print(name)
        x = x * 2
    return x, log


@program(rand(3))
def manager_of_a_generator_that_breaks(x):
    with loud("a"):
        x = x + 1
        with loud("b"):
            x = x * 2
            raise ValueError("in b")
    return x


@program(rand(3))
def exception_after_a_break_in_with(x):
    log = []
    with Scope(log, swallow=True):
        x = x + 1
        print("inside")
        raise KeyError("k")
    return x * 2, log


@program(rand(3))
def broken_instruction_raises_in_with(x):
    log = []
    try:
        with Scope(log), bracketed(log, "g"):
            x = x + 1
            fails()
    except ValueError as error:
        return x * 2, log, str(error), lines(error)


@program(rand(3), [])
def exception_leaves_the_function_through_with(x, log):
    with Scope(log):
        x = x + 1
        print("inside")
        raise KeyError("out")


@program(rand(3))
def return_from_with(x):
    log = []

    def inner():
        with Scope(log), bracketed(log, "g"):
            print("inside")
            return x * 2

    return inner(), log


@program(rand(3))
def return_from_with_in_the_root(x):
    with loud("root"):
        y = x * 2
        print("inside")
        return y + 1


@program(rand(3))
def loop_control_in_with(x):
    log = []
    for i in range(4):
        with Scope(log):
            print(i)
            if i == 1:
                continue
            if i == 3:
                break
            x = x + i
    return x, log


@program(rand(3, requires_grad=True)).graphs(3)
def no_grad(x):
    a = x * 2
    with torch.no_grad():
        b = x * 3
        print(torch.is_grad_enabled())
        c = b * x
    d = x * 4
    return a, b, c, d


@program(rand(3, requires_grad=True))
def no_grad_breaks_and_raises(x):
    try:
        with torch.no_grad():
            y = x * 2
            fails()
    except ValueError:
        z = x * 3
    return y, z, torch.is_grad_enabled()


@program(rand(3, requires_grad=True))
def grad_modes_are_nested(x):
    with torch.no_grad():
        a = x * 2
        print("outer")
        with torch.enable_grad():
            b = x * 2
            print("inner")
            c = b * 2
        d = x * 2
        print("outer")
        e = x * 2
    return [v.requires_grad for v in (a, b, c, d, e)], e + x


@program(rand(3, requires_grad=True))
def grad_mode_changes_across_a_break(x):
    torch.set_grad_enabled(False)
    y = x * 2
    print(torch.is_grad_enabled())
    z = y * x
    torch.set_grad_enabled(True)
    w = x * 2
    print(torch.is_grad_enabled())
    return y, z, w, w * 2


@program(rand(3, requires_grad=True))
def grad_mode_is_left_off_after_a_break(x):
    y = x * 2
    print("on")
    torch.set_grad_enabled(False)
    z = x * 2
    print("off")
    return y, z, x * 3


@program(rand(3, 3)).graphs(3)
def autocast(x):
    with torch.autocast("cpu", torch.bfloat16):
        y = x @ x
        print(y.dtype)
        z = y @ x
    return y, z, x @ x


@program(rand(3, 3))
def autocast_is_nested(x):
    with torch.autocast("cpu", torch.bfloat16):
        y = x @ x
        with torch.autocast("cpu", enabled=False):
            print("off")
            z = x @ x
        print("on")
        w = x @ x
    return y.dtype, z, w


@program(rand(3, requires_grad=True))
def inference_mode(x):
    with torch.inference_mode():
        y = x.detach() * 2
        print(y.is_inference())
        z = y + 1
    return y.is_inference(), z.clone(), x * 2


@program(rand(3))
def default_dtype_changes(x):
    torch.set_default_dtype(torch.float64)
    try:
        a = torch.ones(2)
        print(a.dtype)
        b = torch.zeros(2)
    finally:
        torch.set_default_dtype(torch.float32)
    return a, b, torch.ones(1), x + 1


@program(rand(3))
def exit_stack(x):
    log = []
    with contextlib.ExitStack() as stack:
        stack.enter_context(Scope(log))
        print("one")
        stack.callback(log.append, "callback")
        x = x + stack.enter_context(Scope(log))
        print("two")
        x = x * 2
    return x, log


@program(rand(3))
def suppress(x):
    with contextlib.suppress(KeyError, ValueError):
        x = x + 1
        print("before")
        x = x * 2
        fails()
        x = x * 100
    return x


@program(rand(3))
def redirected(x):
    import io

    with contextlib.redirect_stdout(io.StringIO()) as text:
        y = x + 1
        print("captured")
        z = y * 2
    return z, text.getvalue()


@program(rand(3))
def null_context_and_closing(x):
    class Closes:
        closed = 0

        def close(self):
            print("closed")
            self.closed += 1

    with contextlib.nullcontext(3) as n, contextlib.closing(Closes()) as c:
        print("inside")
        x = x + n
    return x, c.closed


@program(rand(3))
def exception_in_the_handler_of_a_broken_with(x):
    class Raises(Scope):
        def __exit__(self, kind, error, trace):
            print("leaving", kind)
            raise RuntimeError("in exit") from error

    try:
        with Raises([]):
            print("inside")
            x = x + 1
            raise ValueError("first")
    except RuntimeError as error:
        return x, error, error.__cause__
