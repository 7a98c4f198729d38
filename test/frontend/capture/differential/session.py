"""Runs a program in three ways and compares all that can be seen of it."""

from __future__ import annotations

import contextlib
import copy
import dis
import enum
import io
import traceback
import types
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import torch

import girih
from differential.observation import Describer, Lines, Node, differences
from differential.program import Program
from differential.variation import varied
from girih.errors import UnsupportedError

VARIATIONS = 4
"""Most varied calls of a program; each is a capture at most."""

Compile = Callable[[Callable], Callable]
_DATA = (list, dict, set, bytearray, torch.Tensor, torch.nn.Module)


def plain(function: Callable) -> Callable:
    """Compiles nothing."""
    return function


def eager(function: Callable) -> Callable:
    """Captures; the graph runs as it is."""
    return girih.compile(function, backend="eager")


def whole(function: Callable) -> Callable:
    """Captures one graph or raises."""
    return girih.compile(function, backend="eager", fullgraph=True)


def native(function: Callable) -> Callable:
    """Captures and compiles; what is not supported runs eager, a bug is an error."""
    return girih.compile(function, options={"cache": False})


BACKENDS: tuple[Compile, ...] = (eager, native)


def check(program: Program, backends: tuple[Compile, ...] = BACKENDS) -> None:
    """Asserts that a program does the same when it is captured.

    Args:
        program: The program.
        backends: Ways to compile it.

    Raises:
        AssertionError: With all differences.
    """
    expected = run(program, plain)
    for compile in backends:
        found = compare(program, compile, expected)
        assert not found, "\n" + "\n".join(found)


def compare(program: Program, compile: Compile, expected: list[Node]) -> list[str]:
    """Where a program does something else than what is expected, as text."""
    found = []
    actual = run(program, compile)
    for i, (mine, theirs) in enumerate(zip(actual, expected, strict=True)):
        path = f"call {i}, {compile.__name__}"
        found += differences(mine, theirs, compile is not native, path)
    return found


def run(program: Program, compile: Compile, repeats: bool = True) -> list[Node]:
    """Makes the calls of a program, each with copies of its arguments.

    Modules are not copied between calls, so their state goes on.

    Args:
        program: The program.
        compile: What to make of its function before it is called.
        repeats: The first call is made twice with equal arguments, so the second is
            served from the cache, and once more at the end with the arguments that it
            left behind.
    """
    shared: dict[int, Any] = {}
    function = program.function if program.is_given_compile else None
    with _fresh_globals(program.function) as watched:
        function = function or compile(program.function)
        calls = [*program.calls[: 1 if repeats else 0], *program.calls]
        arguments = [_copied(call, shared) for call in calls]
        arguments += arguments[:1] if repeats else []
        prefix = (compile,) if program.is_given_compile else ()
        return [_call(function, prefix, *call, watched) for call in arguments]


def check_varied(program: Program, variations: int = VARIATIONS) -> None:
    """Asserts the same for calls with arguments that differ in one place each.

    The program's own calls follow.

    Args:
        program: The program.
        variations: Varied calls, which are some of all that could be made.

    Raises:
        AssertionError: With all differences.
    """
    calls = [program.calls[0]]
    for call in varied(calls[0], variations):
        calls += [call, program.calls[0]]
    calls += program.calls[1:]
    other = replace(program, calls=calls)
    found = compare(other, eager, run(other, plain))
    assert not found, "\n" + "\n".join(found)


def captures_whole(program: Program) -> bool | None:
    """Whether the first call becomes one graph; None where it raises in Python."""
    if program.is_given_compile:
        return None
    with _fresh_globals(program.function), _quiet(), _same_state():
        args, kwargs = _copied(program.calls[0], {})
        try:
            whole(program.function)(*args, **kwargs)
        except UnsupportedError:
            return False
        except Exception:
            return None
    return True


class Counted(NamedTuple):
    """What the graphs of a call were.

    Attributes:
        graphs: How many there were.
        operations: How many calls of torch they held.
    """

    graphs: int
    operations: int


def count_graphs(program: Program) -> Counted:
    """Captures the first call of a program, with breaks, and counts its graphs."""
    seen: list[int] = []

    def backend(graph, example_inputs):
        seen.append(sum(node.op.startswith("call") for node in graph.graph.nodes))
        return graph.forward

    def counting(function: Callable) -> Callable:
        return girih.compile(function, backend=backend)

    run(replace(program, calls=program.calls[:1]), counting, repeats=False)
    return Counted(len(seen), sum(seen))


def _call(function, prefix, args, kwargs, watched: dict[str, Callable]) -> Node:
    torch.manual_seed(0)
    with _quiet() as printed, _same_state() as state:
        try:
            outcome = ("returned", function(*prefix, *args, **kwargs))
        except Exception as error:
            outcome = ("raised", error, _lines(error))
        state = state()
    seen = {name: look() for name, look in watched.items()}
    described = Describer()
    return described.describe(
        {
            "args": args,
            "kwargs": kwargs,
            "globals": seen,
            "outcome": outcome,
            "printed": printed.getvalue(),
            "state": state,
        }
    )


_CORPUS = str(Path(__file__).parent / "corpus")


def _lines(error: Exception) -> Lines:
    """Where a traceback is in the program's file."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [f for f in frames if f.filename.startswith((_CORPUS, "random_program"))]
    found = tuple((frame.name, frame.lineno) for frame in ours)
    return Lines(found, is_whole=bool(ours) and ours[-1] is frames[-1])


@contextlib.contextmanager
def _quiet() -> Iterator[io.StringIO]:
    with (
        contextlib.redirect_stdout(io.StringIO()) as printed,
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore", girih.FallbackWarning)
        warnings.filterwarnings("error", ".*girih bug in", girih.FallbackWarning)
        yield printed


# Switches that must not be undone by their destructors.
_leaked: list[Any] = []


@contextlib.contextmanager
def _same_state() -> Iterator[Callable[[], dict]]:
    """Puts torch's global state back; gives a function that reads it."""
    before = _state()
    try:
        yield _state
    finally:
        torch.set_grad_enabled(before["grad"])
        torch.set_default_dtype(before["dtype"])
        torch.use_deterministic_algorithms(before["deterministic"])
        torch.set_autocast_enabled("cpu", before["autocast"])
        if torch.is_inference_mode_enabled() != before["inference"]:
            _leaked.append(torch._C._InferenceMode(before["inference"]))


def _state() -> dict[str, Any]:
    return {
        "grad": torch.is_grad_enabled(),
        "inference": torch.is_inference_mode_enabled(),
        "dtype": torch.get_default_dtype(),
        "autocast": torch.is_autocast_enabled("cpu"),
        "deterministic": torch.are_deterministic_algorithms_enabled(),
        "random numbers": hash(torch.get_rng_state().numpy().tobytes()),
    }


def _copied(call: tuple, shared: dict[int, Any]) -> tuple:
    """A copy of the arguments; modules are copied once and then shared."""
    memo = dict(shared)
    copied = copy.deepcopy(call, memo)
    for key, value in memo.items():
        if isinstance(value, torch.nn.Module):
            shared[key] = value
    return copied


@contextlib.contextmanager
def _fresh_globals(function: Callable) -> Iterator[dict[str, Callable[[], Any]]]:
    """Gives the function copies of its globals and of its classes' attributes.

    Yields:
        Functions that read them, by name.
    """
    namespace = function.__globals__
    names = sorted(_global_names(function, namespace))
    memo: dict[int, Any] = {}
    watched: dict[str, Callable] = {}
    restore: list[Callable[[], None]] = []
    for name in names:
        value = namespace.get(name, _MISSING)
        if isinstance(value, type) and value.__module__ == function.__module__:
            for key, data in list(vars(value).items()):
                if _is_data(data) and not key.startswith("__"):
                    setattr(value, key, copy.deepcopy(data, memo))
                    restore.append(lambda c=value, k=key, d=data: setattr(c, k, d))
                    watched[f"{name}.{key}"] = lambda c=value, k=key: vars(c).get(k)
        elif value is _MISSING or _is_data(value):
            if value is not _MISSING:
                namespace[name] = copy.deepcopy(value, memo)
            restore.append(lambda n=name, v=value: _set_global(namespace, n, v))
            watched[name] = lambda n=name: namespace.get(n, "no such global")
    try:
        yield watched
    finally:
        for put_back in restore:
            put_back()


_MISSING = object()


def _set_global(namespace: dict, name: str, value: Any) -> None:
    if value is _MISSING:
        namespace.pop(name, None)
    else:
        namespace[name] = value


def _is_data(value: Any) -> bool:
    if isinstance(value, enum.Enum):
        return False
    if isinstance(value, (int, float, str, tuple, type(None), *_DATA)):
        return True
    return type(value).__module__.startswith("differential.corpus")


def _global_names(function: Callable, namespace: dict) -> set[str]:
    """Globals that a function names, and those that its callees of the file name."""
    names: set[str] = set()
    waiting: list[Any] = [function.__code__]
    while waiting:
        code = waiting.pop()
        waiting += [c for c in code.co_consts if isinstance(c, types.CodeType)]
        for name in set(code.co_names) - names:
            if name in namespace or name in _declared_globals(code):
                names.add(name)
                waiting += _codes(namespace.get(name), namespace["__name__"])
    return names


@cache
def _declared_globals(code: types.CodeType) -> set[str]:
    stores = ("STORE_GLOBAL", "DELETE_GLOBAL")
    return {i.argval for i in dis.get_instructions(code) if i.opname in stores}


def _codes(value: Any, module: str) -> list[types.CodeType]:
    """Code of a function of the file, or of a class of the file."""
    if getattr(value, "__module__", None) != module:
        return []
    if isinstance(value, types.FunctionType):
        return [value.__code__]
    if isinstance(value, type):
        members = [getattr(m, "__func__", m) for m in vars(value).values()]
        return [m.__code__ for m in members if isinstance(m, types.FunctionType)]
    return []
