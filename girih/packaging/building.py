"""``girih.package``: a function or a module as one file."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch.utils import _pytree as pytree

from girih import marks
from girih.loading import load_compiler
from girih.options import make_options
from girih.packaging import capturing, container
from girih.packaging.describing import ExampleArguments, described, name_of
from girih.packaging.exported import Exported
from girih.reports import Reports


def package(
    model: Callable,
    args: tuple = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    path: str | os.PathLike,
    dynamic_shapes: Any = None,
    options: Mapping[str, Any] | None = None,
) -> Path:
    """Compiles a function or a module, and writes it to one file with its weights.

    ``girih.load`` loads the file where torch and girih are, without a compiler. The
    call is captured and not run. It has to be one graph, for inference: results have no
    gradients, and a module is packaged in the mode that it is in, so call ``eval()``.

    Args:
        model: A function, method or ``nn.Module``, or what ``torch.export.export``
            returned: its sizes are symbolic as they are there, and its own example
            arguments are taken where ``args`` and ``kwargs`` are empty.
        args: Example arguments. Tensors stand for all of the same dtype and sizes;
            numbers, texts and None are fixed.
        kwargs: Likewise, by name.
        path: The file; it is replaced.
        dynamic_shapes: Which sizes may differ from call to call, as for
            ``torch.export.export``: by name or in order of the arguments, for each
            tensor from dim to ``torch.export.Dim``. Sizes begin at 2.
        options: As for ``girih.compile``.

    Returns:
        The path.

    Raises:
        TypeError: An argument has the wrong type, or can't be described in a file.
        ValueError: A size does not fit its ``Dim``, or an option is not known.
        girih.UnsupportedError: The call is no single graph (the message has each
            break), or no package can hold what it does.
    """
    dims: Mapping[int, Mapping[int, Any]] = {}
    if is_exported := isinstance(model, torch.export.ExportedProgram):
        if dynamic_shapes is not None:
            raise TypeError(
                "dynamic_shapes must be left out for an exported program, which has "
                "its own"
            )
        exported = Exported.of(model, args, kwargs or {})
        model, args, kwargs = exported.module, exported.args, exported.kwargs
        dims = exported.dims
    if not callable(model):
        kind = type(model).__name__
        raise TypeError(f"girih.package expects a callable or a module, got {kind}")
    if not isinstance(args, (tuple, list)):
        raise TypeError(f"args must be a tuple, got {type(args).__name__}")
    made = make_options(options)
    target, args, kwargs = marks.innermost(model), tuple(args), dict(kwargs or {})
    parameters = capturing.parameters_of(target, len(args))
    names = capturing.names_of_leaves(args, kwargs, parameters)
    conditions = exported.conditions(names) if is_exported else ()
    leaves, tree = pytree.tree_flatten((args, kwargs))
    capturing.check_leaves(leaves, names)
    if not is_exported:
        dims = capturing.dims_of(dynamic_shapes, args, kwargs, parameters)
    _check_dims(leaves, names, dims)
    load_compiler()
    from girih.compiler.packaged import packaged_program
    from girih.plugins import load_installed

    load_installed()
    reports = Reports(name=name_of(target))

    def compile_(gm: torch.fx.GraphModule, examples: Sequence[Any]) -> Any:
        return packaged_program(gm, examples, made, reports.begin())

    with capturing.marked(leaves, dims):
        captured = capturing.capture_whole(target, args, kwargs, made, compile_)
    arguments = ExampleArguments(leaves, names, dims, tree, parameters, conditions)
    manifest, parts = described(captured, target, arguments)
    manifest["options"] = {k: repr(v) for k, v in (options or {}).items()}
    container.write(path, manifest, parts)
    return Path(path)


def _check_dims(
    leaves: Sequence[Any], names: Sequence[str], dims: Mapping[int, Mapping[int, Any]]
) -> None:
    for value, name in zip(leaves, names, strict=True):
        for dim, size in dims.get(id(value), {}).items():
            least, most = capturing.range_of(size)
            now = value.shape[dim]
            if now < least or (most is not None and now > most):
                limit = "" if most is None else f" to {most}"
                raise ValueError(
                    f"{name}.size({dim}) is {now}, and its Dim allows sizes from "
                    f"{least}{limit}. girih compiles sizes 0 and 1 for themselves, so "
                    "give an example of another size."
                )
