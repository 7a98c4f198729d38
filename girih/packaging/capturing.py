"""From a function and its arguments to one graph, and the way back to its results."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils import _pytree as pytree

from girih import config, dynamic, marks
from girih.errors import UnsupportedError, unsupported
from girih.options import Options

_CONSTANTS = (bool, complex, float, int, str, type(None), torch.dtype, torch.device)


@dataclass
class WholeCall:
    """A call that was captured whole.

    Attributes:
        inputs: The tensors that the graph takes.
        examples: What stands for them while it is compiled.
        program: What the backend made of the graph.
        markers: What stands for the graph's results in ``result``.
        result: What the function returned.
    """

    inputs: tuple[torch.Tensor, ...]
    examples: Sequence[Any]
    program: Any
    markers: list[torch.Tensor]
    result: Any


def capture_whole(
    target: Any, args: tuple, kwargs: Mapping, options: Options, compile_: Callable
) -> WholeCall:
    """Captures a call, without computing anything.

    Args:
        target: What is called.
        args: Its arguments.
        kwargs: Likewise.
        options: Options of the compilation.
        compile_: From a graph and its example inputs to a program.

    Raises:
        UnsupportedError: The call is no single graph; the message has all breaks.
    """
    found: list[WholeCall] = []

    def backend(gm: torch.fx.GraphModule, examples: Sequence[Any]) -> Callable:
        program = compile_(gm, examples)
        (output,) = gm.graph.find_nodes(op="output")
        markers = [torch.empty(0) for _ in output.args[0]]

        def mark(*inputs: Any) -> list[torch.Tensor]:
            found.append(WholeCall(inputs, examples, program, markers, None))
            return markers

        return mark

    try:
        with torch.inference_mode(False), torch.no_grad():
            result = _compiled(target, options, backend)(*args, **kwargs)
    except UnsupportedError as error:
        raise _with_breaks(error, target, args, kwargs) from None
    if len(found) != 1:
        unsupported(
            kind="nothing to package",
            context=marks.name_of(target),
            explanation="The call computes nothing with tensors.",
        )
    captured = found[0]
    captured.result = result
    return captured


def _compiled(target: Any, options: Options, backend: Callable) -> Callable:
    from girih.frontend.capture.api import Settings
    from girih.frontend.capture.budget import Limits
    from girih.frontend.capture.targets import compile_callable

    settings = Settings(
        fullgraph=True,
        dynamic=False,
        backend_fn=backend,
        recompile_limit=options.recompile_limit or config.recompile_limit(),
        limits=Limits(**options.capture_limits()),
        observer=_refuse_effects,
        fallback=False,
    )
    return compile_callable(target, settings)


def _refuse_effects(attempt: Any) -> None:
    """Refuses a program that changes objects, before it does."""
    if attempt.captured is not None and attempt.captured.has_effects:
        unsupported(
            kind="a package with effects on Python objects",
            context=attempt.call.function.__qualname__,
            explanation="The call changes an object or a state that it did not make.",
            hints=("Return what it keeps, and take it as an argument.",),
        )


def _with_breaks(
    error: UnsupportedError, target: Any, args: tuple, kwargs: Mapping
) -> UnsupportedError:
    """The error with all graph breaks of the call, found by running it eager."""
    from girih.explanation import explain

    if error.is_of_graph or error.kind.startswith("a package"):
        return error

    def copied(value: Any) -> Any:
        is_tensor = isinstance(value, torch.Tensor)
        return value.detach().clone() if is_tensor else value

    try:
        with torch.no_grad():
            copies = pytree.tree_map(copied, (args, dict(kwargs)))
            breaks = explain(target, backend="eager")(*copies[0], **copies[1])
    except Exception:  # the call itself fails: what is known is all there is to say
        return error
    if len(breaks.break_reasons) < 2:
        return error
    texts = [
        f"break {number}: {reason.text}"
        for number, reason in enumerate(breaks.break_reasons, 1)
    ]
    return UnsupportedError(
        "the function is no single graph",
        f"{marks.name_of(target)} has {len(texts)} breaks",
        "\n".join(("A package is one graph.", *texts)).replace("\n", "\n  "),
        error.hints,
        error.location,
        error.stack,
    )


# Arguments ----------------------------------------------------------------------------


def parameters_of(target: Any, count: int) -> list[str]:
    """Names of the first arguments; those without a name count from 0."""
    function = target.forward if isinstance(target, torch.nn.Module) else target
    try:
        found = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        found = []
    named = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    names = [each.name for each in found if each.kind in named][:count]
    return [*names, *(f"argument {i}" for i in range(len(names), count))]


def names_of_leaves(args: tuple, kwargs: Mapping, parameters: Sequence[str]) -> list:
    """How messages name each leaf of the arguments: ``x``, ``batch['ids']``."""
    found, _ = pytree.tree_flatten_with_path((args, dict(kwargs)))
    names = []
    for path, _ in found:
        _, first, *rest = path
        head = parameters[first.idx] if path[0].idx == 0 else str(first.key)
        names.append(head + pytree.keystr(tuple(rest)))
    return names


def check_leaves(leaves: Sequence[Any], names: Sequence[str]) -> None:
    """Refuses arguments that no file can hold or describe.

    Raises:
        TypeError: There is one.
    """
    for value, name in zip(leaves, names, strict=True):
        if type(value) in (torch.Tensor, torch.nn.Parameter):
            if value.layout is torch.strided and not value.is_conj():
                if not value.is_neg():
                    continue
        elif isinstance(value, _CONSTANTS):
            continue
        kind = type(value).__name__
        raise TypeError(
            f"girih.package can't take {name}: a {kind}, expected strided tensors, "
            "numbers, texts, dtypes, devices, None, and containers of these that "
            "torch.utils._pytree knows"
        )


# Symbolic sizes -----------------------------------------------------------------------


def dims_of(
    shapes: Any, args: tuple, kwargs: Mapping, parameters: Sequence[str]
) -> dict[int, dict[int, Any]]:
    """For tensors, by identity, their symbolic dims, each a ``torch.export.Dim``.

    Args:
        shapes: As ``dynamic_shapes`` of ``torch.export.export``.
        args: The arguments.
        kwargs: Likewise.
        parameters: Names of the arguments by position.

    Raises:
        TypeError: ``shapes`` does not fit the arguments.
    """
    found: dict[int, dict[int, Any]] = {}
    if shapes is None:
        return found
    given = dict(zip(parameters, args, strict=True)) | dict(kwargs)
    if isinstance(shapes, (tuple, list)):
        shapes = dict(zip(given, shapes, strict=False))
    if not isinstance(shapes, Mapping):
        raise TypeError(f"dynamic_shapes must be a dict or a tuple, got {shapes!r}")
    if unknown := [name for name in shapes if name not in given]:
        known = ", ".join(map(repr, given))
        raise TypeError(f"dynamic_shapes names {unknown[0]!r}; arguments are {known}")
    for name, spec in shapes.items():
        _read_dims(name, given[name], spec, found)
    return found


def _read_dims(name: str, value: Any, spec: Any, found: dict) -> None:
    if spec is None:
        return
    if isinstance(value, torch.Tensor):
        pairs = spec.items() if isinstance(spec, Mapping) else enumerate(spec)
        for dim, size in pairs:
            if type(dim) is not int or not -value.dim() <= dim < value.dim():
                raise TypeError(f"dynamic_shapes: {name} has no dim {dim!r}")
            if _is_symbolic(name, dim, size, value.shape[dim]):
                found.setdefault(id(value), {})[dim % value.dim()] = size
    elif isinstance(spec, Mapping):
        for key, inner in spec.items():
            item = value[key] if isinstance(value, Mapping) else getattr(value, key)
            _read_dims(f"{name}[{key!r}]", item, inner, found)
    else:
        items = value if isinstance(value, (tuple, list)) else vars(value).values()
        for number, (item, inner) in enumerate(zip(items, spec, strict=True)):
            _read_dims(f"{name}[{number}]", item, inner, found)


def _is_symbolic(name: str, dim: int, size: Any, now: int) -> bool:
    text = f"dynamic_shapes: dim {dim} of {name}"
    if size is None or getattr(size, "name", "") == "STATIC":
        return False
    if isinstance(size, int):
        if size != now:
            raise ValueError(f"{text} is {now}, and not {size}")
        return False
    if type(size).__name__ == "_DimHint":
        if size.type.name == "STATIC":
            return False
        raise TypeError(f"{text} must be a torch.export.Dim with a name, got {size}")
    if hasattr(size, "root") or not hasattr(size, "min"):
        raise TypeError(
            f"{text} must be a torch.export.Dim with a name, a number or None, got "
            f"{size!r}"
        )
    return True


def range_of(dim: Any) -> tuple[int, int | None]:
    """The sizes that a ``Dim`` allows; girih compiles 0 and 1 for themselves."""
    most = dim.max if type(dim.max) is int else None
    return max(int(dim.min), 2), most if most is None or most < 1 << 62 else None


@contextmanager
def marked(
    leaves: Sequence[Any], dims: Mapping[int, Mapping[int, Any]]
) -> Iterator[None]:
    """Marks dims as symbolic in the block; afterwards tensors have their own marks."""
    before = {}
    try:
        for value in leaves:
            if id(value) in dims and id(value) not in before:
                before[id(value)] = (value, dict(vars(value)))
                for dim, size in dims[id(value)].items():
                    least, most = range_of(size)
                    dynamic.mark_dynamic(value, dim, min=least, max=most)
        yield
    finally:
        for value, attributes in before.values():
            vars(value).clear()
            vars(value).update(attributes)
