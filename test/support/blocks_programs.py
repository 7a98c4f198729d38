"""Programs that raise in blocks, for all kinds of operations, blocks and data.

Each operation takes the arguments ``(x, table, index)`` and may raise where an entry of
``index`` is out of range. A program puts it into a block, and has a change of what
exists beside it, so that its graph can't run again.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable

import torch
import torch.nn.functional as F

import girih


def get(x, table, index):
    return table[index]


def index_copy(x, table, index):
    return table.index_copy_(0, index, x[:1])


def gather(x, table, index):
    return table.gather(0, index[:, None].expand(1, 4))


def embedding(x, table, index):
    return F.embedding(index, table)


def divide(x, table, index):
    return index // (index - 9)


def no_error(x, table, index):
    return table[:1] + 1


# With the class of what is raised.
OPERATIONS: dict[Callable, type | None] = {
    get: IndexError,
    index_copy: IndexError,
    gather: RuntimeError,
    embedding: IndexError,
    divide: RuntimeError,
    no_error: None,
}


class Own(Exception):
    """An exception of the program."""


class Counting:
    """A manager that lets errors pass."""

    def __init__(self, log):
        self.log = log

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        self.log.append(kind and kind.__name__)


class Stopping:
    """A manager that stops errors."""

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        return True


@contextlib.contextmanager
def catching():
    """A manager made of a generator, which stops errors."""
    try:
        yield
    except LookupError:
        pass


@contextlib.contextmanager
def passing():
    """A manager made of a generator, which lets errors pass."""
    yield


def exact(run, x, log):
    try:
        return run()
    except IndexError:
        return x * 2


def base(run, x, log):
    try:
        return run()
    except LookupError as error:
        return x * 2, str(error)


def of_a_tuple(run, x, log):
    try:
        return run()
    except (ValueError, RuntimeError):
        return x * 2


def own(run, x, log):
    try:
        return run()
    except Own:
        return x * 2


def not_implemented(run, x, log):
    try:
        return run()
    except NotImplementedError:
        return x * 2


def two_clauses(run, x, log):
    try:
        return run()
    except (KeyError, torch.cuda.OutOfMemoryError):
        return x * 3
    except IndexError:
        return x * 2


def bare(run, x, log):
    try:
        return run()
    except:  # noqa: E722
        return x * 2


def raised_again(run, x, log):
    try:
        return run()
    except Exception:
        log.append("raised")
        raise


def raised_from(run, x, log):
    try:
        return run()
    except IndexError as error:
        raise Own("from") from error


def of_a_group(run, x, log):
    y = x * 2
    try:
        y = run()
    except* IndexError:
        log.append("star")
    return y


def in_finally(run, x, log):
    try:
        return run()
    finally:
        log.append("finally")


def returned_in_finally(run, x, log):
    try:
        run()
    finally:
        return x * 2  # noqa: B012


def written_in_the_handler(run, x, log):
    try:
        return run()
    except IndexError:
        return x.mul_(3)


def nested(run, x, log):
    try:
        try:
            return run()
        except ValueError:
            return x * 3
    except IndexError:
        return x * 2


def nested_without_catching(run, x, log):
    try:
        try:
            return run()
        except ValueError:
            return x * 3
    except KeyError as error:
        return x * 2, error


def with_else(run, x, log):
    try:
        y = run()
    except IndexError:
        y = x * 2
    else:
        y = y + 1
    return y


def in_a_loop(run, x, log):
    found = []
    for step in range(3):
        try:
            found.append(run() + step)
        except IndexError:
            if step == 1:
                break
            continue
        found.append(x + step)
    return found


def suppressed(run, x, log):
    y = x * 2
    with contextlib.suppress(IndexError):
        y = run()
    return y


def suppressed_others(run, x, log):
    with contextlib.suppress(KeyError, ValueError):
        return run()


def counted(run, x, log):
    with Counting(log):
        return run()


def stopped(run, x, log):
    y = x * 2
    with Stopping():
        y = run()
    return y


def caught_by_a_generator(run, x, log):
    y = x * 2
    with catching():
        y = run()
    return y


def passed_by_a_generator(run, x, log):
    with passing():
        return run()


def without_gradients(run, x, log):
    with torch.no_grad(), contextlib.nullcontext():
        return run()


# With the errors of operations that they see.
BLOCKS: dict[Callable, tuple[type, ...]] = {
    exact: (IndexError,),
    base: (IndexError,),
    of_a_tuple: (RuntimeError,),
    own: (),
    not_implemented: (),
    two_clauses: (IndexError,),
    bare: (IndexError, RuntimeError),
    raised_again: (IndexError, RuntimeError),
    raised_from: (IndexError,),
    of_a_group: (IndexError, RuntimeError),
    in_finally: (IndexError, RuntimeError),
    returned_in_finally: (IndexError, RuntimeError),
    written_in_the_handler: (IndexError,),
    nested: (IndexError,),
    nested_without_catching: (),
    with_else: (IndexError,),
    in_a_loop: (IndexError,),
    suppressed: (IndexError,),
    suppressed_others: (),
    counted: (IndexError, RuntimeError),
    stopped: (IndexError, RuntimeError),
    caught_by_a_generator: (IndexError,),
    passed_by_a_generator: (),
    without_gradients: (),
}


def writes_before(block, operation, x, table, index, log):
    table.add_(1)
    return block(lambda: operation(x, table, index), x, log)


def writes_after(block, operation, x, table, index, log):
    found = block(lambda: operation(x, table, index), x, log)
    x.add_(1)
    return found


def draws(block, operation, x, table, index, log):
    return block(lambda: operation(x, table, index), x, log), torch.rand(2)


def only_reads(block, operation, x, table, index, log):
    return block(lambda: operation(x, table, index), x, log)


CHANGES = (writes_before, writes_after, draws, only_reads)


def outcome(function, block, operation, is_bad: bool) -> tuple:
    """What a call gives, raises, writes, logs and draws."""
    x, table = torch.ones(1, 4), torch.arange(12.0).view(3, 4)
    log: list = []
    torch.manual_seed(0)
    try:
        value = function(
            block, operation, x, table, torch.tensor([9 if is_bad else 2]), log
        )
    except girih.UnsupportedError:
        raise
    except (IndexError, RuntimeError, Own) as error:
        cause = error.__cause__
        value = type(error).__name__, str(error), cause and str(cause)
    return value, x, table, log, torch.get_rng_state()
