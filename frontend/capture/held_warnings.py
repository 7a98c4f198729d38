"""Warnings of torch that are given while a call is evaluated without data.

Their text may name sizes, which are symbols then. So a call that warns is evaluated
once more, with the sizes of the call that is captured: what it warns of then is what
the user reads. ``warnings.warn`` is replaced meanwhile; ``warnings.catch_warnings``
would have all warnings forget where they were given already.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.utils import _pytree as pytree

from girih.frontend.fake import make_fake_mode


@contextmanager
def held() -> Iterator[list[tuple]]:
    """Holds the warnings of torch that this thread gives; yields what they say."""
    found: list[tuple] = []
    warn, thread = warnings.warn, threading.get_ident()
    is_open = True

    def hold(message, category=None, stacklevel=1, *args, **kwargs) -> None:
        own = getattr(category, "__module__", "").startswith("girih")
        if is_open and not own and threading.get_ident() == thread:
            found.append((message, category))
        else:
            warn(message, category, stacklevel + 1, *args, **kwargs)

    warnings.warn = hold
    try:
        yield found
    finally:
        is_open = False
        if warnings.warn is hold:
            warnings.warn = warn


def give(found: list[tuple], call: Callable, args: tuple, kwargs: dict) -> None:
    """Gives the warnings that a call holds back, with the sizes that there are now.

    Args:
        found: The warnings, with symbols in their texts.
        call: Evaluates the call.
        args: What the call takes, without data.
        kwargs: The same by name.
    """
    if not found:
        return
    mode = make_fake_mode(None)
    with mode, torch.no_grad():
        args, kwargs = pytree.tree_map(_with_numbers, (args, kwargs))
        with held() as again, suppress(Exception):
            call(*args, **kwargs)
    # With known sizes ATen may be left to warn, which the graph does not call then.
    for message, category in again or found:
        warnings.warn(message, category, stacklevel=2)


def _with_numbers(value: Any) -> Any:
    """A value with numbers in place of symbols."""
    if isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)):
        return value.node.hint
    if not isinstance(value, FakeTensor):
        return value
    sizes, strides = (
        map(_with_numbers, value.size()),
        map(_with_numbers, value.stride()),
    )
    made = torch.empty_strided(
        [*sizes], [*strides], dtype=value.dtype, device=value.device
    )
    return made.requires_grad_() if value.requires_grad else made
