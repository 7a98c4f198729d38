"""The with statement."""

import contextlib

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

    def __exit__(self, kind, error, traceback):
        self.log.append(kind.__name__ if kind else "exit")
        return self.swallow


@contextlib.contextmanager
def bracketed(log, name):
    log.append(f"<{name}")
    try:
        yield name
    finally:
        log.append(f"{name}>")


@program(rand(3))
def user_manager(x):
    log = []
    with Scope(log) as n:
        x = x + n
    return x, log


@program(rand(3), [])
def manager_over_argument(x, log):
    with Scope(log):
        x = x * 2
    return x


@program(rand(3))
def nested(x):
    log = []
    with Scope(log) as a, Scope(log) as b:
        with Scope(log) as c:
            x = x + a + b * c
    return x, log


@program(rand(3))
def swallows(x):
    log = []
    with Scope(log, swallow=True):
        raise ValueError("gone")
    return x, log


@program(rand(3), [])
def passes_errors_on(x, log):
    with Scope(log):
        raise ValueError("seen")


@program(rand(3))
def error_is_caught_outside(x):
    log = []
    try:
        with Scope(log):
            x = x + 1
            raise KeyError("k")
    except KeyError as error:
        return x, log, str(error)


@program(rand(3))
def return_inside(x):
    log = []

    def inner():
        with Scope(log):
            return x * 2

    return inner(), log


@program(rand(3))
def break_inside(x):
    log = []
    for i in range(5):
        with Scope(log):
            if i == 1:
                break
            x = x + i
    return x, log


@program(rand(3))
def from_generator(x):
    log = []
    with bracketed(log, "a") as name:
        x = x + len(name)
    return x, log


@program(rand(3))
def from_generator_with_error(x):
    log = []
    try:
        with bracketed(log, "a"):
            raise ValueError("v")
    except ValueError:
        log.append("caught")
    return x, log


@program(rand(3))
def as_decorator(x):
    log = []

    @bracketed(log, "f")
    def inner(y):
        log.append("body")
        return y + 1

    return inner(x), log


@program(rand(3))
def manager_from_library(x):
    with contextlib.nullcontext(5) as n, contextlib.suppress(ZeroDivisionError):
        x = x + n
        x = x / (1 // 0)
    return x


@program(rand(3))
def exit_stack(x):
    log = []
    with contextlib.ExitStack() as stack:
        for name in "ab":
            stack.enter_context(bracketed(log, name))
        stack.callback(log.append, "callback")
        x = x + len(log)
    return x, log


@program(rand(3))
def closing(x):
    class Resource:
        closed = False

        def close(self):
            self.closed = True

    resource = Resource()
    with contextlib.closing(resource):
        x = x + 1
    return x, resource.closed


@program(rand(3, requires_grad=True))
def no_grad(x):
    with torch.no_grad():
        y = x * 2
    return y, x * 3, torch.is_grad_enabled()


@program(rand(3, requires_grad=True))
def no_grad_nested(x):
    with torch.no_grad():
        a = x * 2
        with torch.enable_grad():
            b = x * 3
        c = x * 4
    return a, b, c


@program(rand(3, requires_grad=True))
def set_grad_enabled(x):
    with torch.set_grad_enabled(False):
        a = x + 1
    with torch.set_grad_enabled(True):
        b = x + 2
    return a, b


@program(rand(3, requires_grad=True))
def no_grad_with_error(x):
    try:
        with torch.no_grad():
            raise ValueError
    except ValueError:
        return x * 2, torch.is_grad_enabled()


@torch.no_grad()
def without_grad(x):
    return x * 2


@program(rand(3, requires_grad=True))
def no_grad_as_decorator(x):
    return without_grad(x), x * 2


@program(rand(3))
def inference_mode(x):
    with torch.inference_mode():
        y = x * 2
    return y.sum().item() > 100


@program(rand(4, 4), rand(4, 4))
def autocast(x, y):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        a = x @ y
        with torch.autocast("cpu", enabled=False):
            b = x @ y
    return a, b, x @ y


@program(rand(3))
def manager_object_is_reused(x):
    scope = Scope([])
    for _ in range(2):
        with scope as n:
            x = x + n
    return x, scope.log


@program(rand(3))
def exit_sees_the_exception(x):
    class Keeps:
        def __enter__(self):
            return self

        def __exit__(self, kind, error, traceback):
            self.seen = (kind, str(error), traceback is not None)
            return True

    with Keeps() as keeps:
        raise ValueError("seen")
    return x, keeps.seen


@program(rand(3))
def enter_raises(x):
    class Broken:
        def __enter__(self):
            raise RuntimeError("enter")

        def __exit__(self, *args):
            return True

    with Broken():
        x = x + 1
    return x


@program(rand(3))
def not_a_manager(x):
    with 5:
        return x


@program(rand(3))
def state_is_restored(x):
    state = {"level": 1}

    @contextlib.contextmanager
    def level(n):
        before = state["level"]
        state["level"] = n
        yield
        state["level"] = before

    with level(5):
        x = x * state["level"]
    return x * state["level"], state


@program(rand(3))
def tuple_target(x):
    with contextlib.nullcontext((1, 2)) as (a, b):
        return x * a + b
