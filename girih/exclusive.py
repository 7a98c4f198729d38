"""One compilation at a time.

Torch's tables of operators are filled while a program is compiled, which two threads
may not do at once; nor would two be faster, for compiling is Python. Calls of what is
compiled never come here.

What is traced keeps fake tensors for derivatives; the user's hooks on saved tensors
(``save_on_cpu``, a checkpoint around the call) must not see those.

A backward pass that runs inside of a function of TorchDynamo's is compiled there. What
a compilation calls is nothing for Dynamo to capture.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from threading import RLock

import torch
from torch._C import _autograd
from torch._C._dynamo.eval_frame import set_eval_frame

from girih import signals

_lock = RLock()


@contextmanager
def compilation() -> Iterator[bool]:
    """Lets one thread compile at a time; a compilation may start others.

    Signal handlers run after it: what turns errors of a compilation into something else
    has to stand inside of it.

    Yields:
        Whether another thread compiled meanwhile: what this one came for may be there.
    """
    with signals.deferred(), _has_lock() as waited, _own_hooks(), _unwatched():
        yield waited


def is_elsewhere() -> bool:
    """Whether another thread compiles now, so that a compilation here would wait."""
    if not _lock.acquire(blocking=False):
        return True
    _lock.release()
    return False


@contextmanager
def _has_lock() -> Iterator[bool]:
    lock = _lock
    waited = not lock.acquire(blocking=False)
    if waited:
        lock.acquire()
    try:
        yield waited
    finally:
        lock.release()


@contextmanager
def _own_hooks() -> Iterator[None]:
    """Hides the hooks on saved tensors that are set: only the last ones are called.

    Where none are, none may be: transforms of ``torch.func`` refuse them.
    """
    if _autograd._top_saved_tensors_default_hooks(True) is None:
        yield
        return
    _autograd._push_saved_tensors_default_hooks(_same, _same)
    try:
        yield
    finally:
        _autograd._pop_saved_tensors_default_hooks()


@contextmanager
def _unwatched() -> Iterator[None]:
    """Keeps TorchDynamo away from the functions that are called."""
    theirs = set_eval_frame(None)
    try:
        yield
    finally:
        set_eval_frame(theirs)


def _same(tensor: torch.Tensor) -> torch.Tensor:
    return tensor


def _renew() -> None:
    """In a child process the thread that holds the lock does not exist."""
    global _lock
    _lock = RLock()


os.register_at_fork(after_in_child=_renew)
