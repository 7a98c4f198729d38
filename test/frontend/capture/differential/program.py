"""The decorator that makes a function a test program."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch

_PROGRAMS: dict[str, Program] = {}


@dataclass
class Program:
    """A function, and the arguments of the calls to make.

    Attributes:
        name: ``family.function``.
        function: The function.
        calls: Arguments and keywords of each call. They are copied before use.
        is_given_compile: The function is not compiled; it takes ``compile`` as its
            first argument and compiles what it likes.
        graphs: Most graphs that the first call should become, at least one; None:
            any number.
    """

    name: str
    function: Callable
    calls: list[tuple[tuple, dict[str, Any]]] = field(default_factory=list)
    is_given_compile: bool = False
    graphs: int | None = None

    @property
    def family(self) -> str:
        """Name of the file in the corpus."""
        return self.name.partition(".")[0]


class _Decorator:
    """What ``program`` returns; ``then`` adds calls with other arguments."""

    def __init__(self, args: tuple, kwargs: dict[str, Any], is_given_compile: bool):
        self._calls = [(args, kwargs)]
        self._is_given_compile = is_given_compile
        self._graphs: int | None = None

    def then(self, *args: Any, **kwargs: Any) -> _Decorator:
        """Adds a call."""
        self._calls.append((args, kwargs))
        return self

    def graphs(self, most: int) -> _Decorator:
        """Says how many graphs the first call should become, at most."""
        self._graphs = most
        return self

    def __call__(self, function: Callable) -> Callable:
        name = f"{function.__module__.rpartition('.')[2]}.{function.__name__}"
        assert name not in _PROGRAMS, f"two programs {name}"
        _PROGRAMS[name] = Program(
            name, function, self._calls, self._is_given_compile, self._graphs
        )
        return function


def program(*args: Any, **kwargs: Any) -> _Decorator:
    """Registers a function with the arguments to call it with."""
    return _Decorator(args, kwargs, is_given_compile=False)


def compiles(*args: Any, **kwargs: Any) -> _Decorator:
    """Registers a function that takes ``compile`` before the arguments."""
    return _Decorator(args, kwargs, is_given_compile=True)


def rand(*shape: int, **options: Any) -> torch.Tensor:
    """Normal values, the same at each run."""
    generator = torch.Generator().manual_seed(sum(shape) + len(shape))
    return torch.randn(*shape, generator=generator, **options)


def ints(*shape: int, high: int = 10, dtype: torch.dtype = torch.int64):
    """Small integers, the same at each run."""
    generator = torch.Generator().manual_seed(sum(shape) + high)
    return torch.randint(high, shape, generator=generator, dtype=dtype)


def load() -> dict[str, Program]:
    """All programs of the corpus, by name."""
    from differential import corpus

    for module in pkgutil.iter_modules(corpus.__path__):
        importlib.import_module(f"{corpus.__name__}.{module.name}")
    return dict(sorted(_PROGRAMS.items()))
