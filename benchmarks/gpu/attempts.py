"""Rows of results, and engines whose failures are part of them."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch

Row = dict[str, Any]


class DeviceLost(RuntimeError):
    """The device answers every call of this process with an error from now on."""


class Attempts:
    """The engines that are tried on one case.

    Attributes:
        failures: What an engine raised, by engine.
    """

    def __init__(
        self,
        names: Sequence[str],
        announce: Callable[[str], None] = lambda engine: None,
        failures: dict[str, str] | None = None,
    ):
        """Args: the engines; who is told of each before it starts; known failures."""
        self._names = names
        self._announce = announce
        self.failures = dict(failures or {})

    def engines(self, first: Sequence[str] = ()) -> Iterator[str]:
        """The engines that have not failed before, some of them first."""
        names = [name for name in first if name in self._names]
        for name in dict.fromkeys([*names, *self._names]):
            if name not in self.failures:
                self._announce(name)
                yield name

    @contextmanager
    def of(self, engine: str) -> Iterator[None]:
        """What fails inside is recorded, and the next engine has its turn.

        Raises:
            DeviceLost: No further engine can run in this process.
        """
        try:
            yield
        except Exception as error:  # noqa: BLE001  (whatever it is becomes a row)
            traceback.print_exc(file=sys.stderr)
            self.failures[engine] = f"{type(error).__name__}: {error}"[:600]
            error.__traceback__ = None  # it holds the tensors of the failed call
            _check_device()

    def row(self, **values: Any) -> Row:
        """A row with the failures in it."""
        return {**values, "failures": self.failures}


def _check_device() -> None:
    try:
        if torch.cuda.is_initialized():
            torch.cuda.synchronize()
    except RuntimeError as error:
        raise DeviceLost(str(error)) from None
