"""Graphs that write what exists and then fail on their data, within blocks.

Each is called with an index in range first, and then with one that is not.
"""

import contextlib

import torch

from differential.program import program, rand

GOOD, BAD = torch.tensor([1]), torch.tensor([7])


class Scope:
    """Logs how it is left; may swallow exceptions."""

    def __init__(self, log, swallow=False):
        self.log = log
        self.swallow = swallow

    def __enter__(self):
        self.log.append("enter")

    def __exit__(self, kind, error, trace):
        self.log.append(kind.__name__ if kind else "exit")
        return self.swallow


@contextlib.contextmanager
def bracketed(log):
    log.append("<")
    try:
        yield
    except IndexError as error:
        log.append(str(error))
        raise
    finally:
        log.append(">")


def writes_and_reads(x, index):
    x.add_(1)
    return x[index]


@program(rand(4), GOOD).then(rand(4), BAD)
def in_no_grad(x, index):
    with torch.no_grad():
        print("break")
        x.add_(1)
        y = x[index]
    return y


@program(rand(4), GOOD).then(rand(4), BAD)
def in_autocast(x, index):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        print("break")
        x.add_(1)
        y = x[index]
    return y


@program(rand(4), GOOD).then(rand(4), BAD)
def in_inference_mode(x, index):
    with torch.inference_mode():
        print("break")
        x.add_(1)
        y = x[index] * 2
    return y


@program(rand(4), GOOD).then(rand(4), BAD)
def under_a_default_device(x, index):
    with torch.device("meta"):
        print("break")
        x.add_(1)
        y = x[index]
    return y


@program(rand(4), GOOD).then(rand(4), BAD)
def after_a_switch(x, index):
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        print("break")
        return writes_and_reads(x, index)
    finally:
        torch.set_default_dtype(before)


@program(rand(4), GOOD, []).then(rand(4), BAD, [])
def in_finally(x, index, log):
    try:
        print("break")
        return writes_and_reads(x, index)
    finally:
        log.append("finally")


@program(rand(4), GOOD, []).then(rand(4), BAD, [])
def in_a_user_manager(x, index, log):
    with Scope(log), bracketed(log):
        print("break")
        return writes_and_reads(x, index)


@program(rand(4), GOOD, []).then(rand(4), BAD, [])
def swallowed_by_a_manager(x, index, log):
    y = x
    with torch.no_grad(), Scope(log, swallow=True):
        print("break")
        x.add_(1)
        y = x[index]
    return y * 2


@program(rand(4), GOOD).then(rand(4), BAD)
def caught(x, index):
    try:
        print("break")
        y = writes_and_reads(x, index)
    except IndexError as error:
        return x * 2, str(error)
    return y * 3


@program(rand(4), GOOD, []).then(rand(4), BAD, [])
def caught_around_a_call(x, index, log):
    def inner():
        with torch.no_grad(), Scope(log):
            print("break")
            x.add_(1)
            return x[index]

    try:
        return inner()
    except IndexError:
        return x * 3


@program(rand(4), GOOD).then(rand(4), BAD)
def while_another_is_handled(x, index):
    try:
        raise ValueError("first")
    except ValueError:
        print("break")
        return writes_and_reads(x, index)


@program(rand(4), GOOD, []).then(rand(4), BAD, [])
def behind_the_region(x, index, log):
    with torch.no_grad(), Scope(log):
        print("break")
        x.add_(1)
    return x[index]


@program(rand(4), GOOD, []).then(rand(4), BAD, [])
def behind_a_region_that_ends_in_a_break(x, index, log):
    with torch.no_grad(), Scope(log):
        print("break")
    x.add_(1)
    return x[index]


@program(rand(4), GOOD).then(rand(4), BAD)
def behind_the_try(x, index):
    try:
        print("break")
        x.add_(1)
    except IndexError:
        return x * 0
    return x[index]


@program(rand(4), GOOD).then(rand(4), BAD)
def written_behind_the_region(x, index):
    with torch.no_grad():
        print("break")
        y = x[index]
    x.add_(1)
    return y


@program(rand(4), GOOD).then(rand(4), BAD)
def try_behind_a_break(x, index):
    with torch.no_grad():
        print("break")
        x.add_(1)
        try:
            return x[index]
        except IndexError:
            return x * 2


@program(rand(4), GOOD).then(rand(4), BAD)
def handler_goes_on_after_a_break(x, index):
    def inner():
        print("break")
        x.add_(1)
        raise ValueError("of the callee")

    with torch.no_grad():
        try:
            inner()
        except ValueError:
            x.add_(1)
            return x[index]


@program(rand(4), GOOD, []).then(rand(4), BAD, [])
def in_a_loop(x, index, log):
    y = x
    for step in range(3):
        with Scope(log), torch.no_grad():
            if step == 2:
                y = x[index]
            print("break", step)
            x.add_(1)
    return y


@program(rand(4), GOOD, []).then(rand(4), BAD, [])
def loop_in_a_region(x, index, log):
    y = x
    with Scope(log), torch.no_grad():
        for step in range(3):
            print("break", step)
            x.add_(1)
            y = x[index + step - 1]
    return y


# ---- without a break before


@program(rand(4), GOOD).then(rand(4), BAD)
def whole_in_no_grad(x, index):
    with torch.no_grad(), torch.autocast("cpu"):
        x.add_(1)
        y = x[index]
    return y


@program(rand(4), GOOD).then(rand(4), BAD)
def caught_in_the_same_graph(x, index):
    x.add_(1)
    try:
        return x[index]
    except (KeyError, IndexError):
        return x * 2


@program(rand(4), GOOD).then(rand(4), BAD).graphs(1)
def another_error_is_caught(x, index):
    x.add_(1)
    try:
        return x[index]
    except TypeError:
        return x * 2
    except KeyError:
        return x * 3


@program(torch.tensor([4, 6]), torch.tensor([2])).then(
    torch.tensor([4, 6]), torch.tensor([0])
)
def division_by_zero_is_caught(x, divisor):
    x.add_(1)
    try:
        return x // divisor
    except RuntimeError:
        return x


@program(rand(4), GOOD, []).then(rand(4), BAD, [])
def in_a_region_that_is_new(x, index, log):
    with Scope(log):
        print("break")
        x.add_(1)
        with torch.no_grad(), torch.autocast("cpu"):
            y = x[index]
    return y


@program(rand(4), GOOD, []).then(rand(4), BAD, [])
def several_frames_are_open(x, index, log):
    def inner(cell):
        with Scope(log):
            try:
                print("break")
                cell.add_(1)
                return x[index]
            finally:
                log.append(tuple(cell.shape))

    def middle():
        with torch.no_grad():
            return inner(x) * 2

    with bracketed(log):
        return middle() + 1


@program(rand(4), GOOD, []).then(rand(4), BAD, [])
def caller_fails_in_its_own_block(x, index, log):
    def inner():
        print("break")
        return x.add_(1)

    with Scope(log), torch.no_grad():
        y = inner()
        return y[index]
