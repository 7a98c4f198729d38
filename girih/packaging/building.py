"""``girih.package``: functions or modules as one file."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

import girih
from girih import processors
from girih.codegen.gpu.cards import Card
from girih.loading import load_compiler
from girih.options import Options, make_options
from girih.packaging import capturing, code, container, tensors
from girih.packaging import targets as target_list
from girih.packaging.describing import described, given_to
from girih.packaging.examples import Example, examples_of
from girih.packaging.loading import FORMAT
from girih.packaging.names import named_tensors
from girih.packaging.weights import Weights
from girih.reports import Reports


def package(
    model: Callable | Mapping[str, Any],
    args: tuple = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    path: str | os.PathLike,
    dynamic_shapes: Any = None,
    targets: Sequence[str] = (processors.NATIVE,),
    options: Mapping[str, Any] | None = None,
) -> Path:
    """Compiles functions or modules, and writes them to one file with their weights.

    ``girih.load`` loads the file where torch and girih are, without a compiler. The
    calls are captured and not run. Each has to be one graph, for inference: results
    have no gradients, and a module is packaged in the mode that it is in, so call
    ``eval()``.

    Args:
        model: A function, method or ``nn.Module``, or what ``torch.export.export``
            returned: its sizes are symbolic as they are there, and its own example
            arguments are taken where ``args`` and ``kwargs`` are empty. For several
            entry points a dict from name to ``(model, args)`` or ``(model, args,
            kwargs)``: they share weights and state.
        args: Example arguments. Tensors stand for all of the same dtype and sizes;
            numbers, texts and None are fixed.
        kwargs: Likewise, by name.
        path: The file; it is replaced.
        dynamic_shapes: Which sizes may differ from call to call, as for
            ``torch.export.export``: by name or in order of the arguments, for each
            tensor from dim to ``torch.export.Dim``. Sizes begin at 2. For several entry
            points a dict from name to these.
        targets: Processors that code is made for: ``"native"``, the one that runs
            Python, and the levels ``"x86-64-v2"``, ``"x86-64-v3"`` and ``"x86-64-v4"``.
            Or GPUs: ``"native"``, the one that has the arguments and weights, and
            ``"cuda-sm80"``, ``"cuda-sm86"``, ``"cuda-sm89"`` and ``"cuda-sm90"``, which
            need not be here: arguments and weights on the cpu stand for tensors there.
            ``girih.load`` takes the best one that runs there.
        options: As for ``girih.compile``.

    Returns:
        The path.

    Raises:
        TypeError: An argument has the wrong type, or can't be described in a file.
        ValueError: A size does not fit its ``Dim``, or a target, an option or a name
            is wrong.
        girih.UnsupportedError: A call is no single graph (the message has each break),
            or no package can hold what it does.
    """
    made = make_options(options)
    target_list.check(targets)
    examples = examples_of(model, args, kwargs, dynamic_shapes)
    device = _device_of(examples)
    if device.type != "cpu":
        load_compiler()
    chosen = target_list.named(targets, device)
    load_compiler()
    from girih.plugins import load_installed

    load_installed()
    manifest, parts = _built(examples, made, chosen, device)
    manifest["options"] = {name: repr(value) for name, value in (options or {}).items()}
    container.write(path, manifest, parts.content)
    return Path(path)


def _built(
    examples: Mapping[str, Example],
    options: Options,
    targets: Sequence[target_list.Target],
    device: torch.device,
) -> tuple[dict[str, Any], code.Parts]:
    """The manifest, without the options, and the parts."""
    from girih.compiler.packaged import can_be_repeated
    from girih.compiler.sources import added

    gpu = device if isinstance(targets[0], Card) else None
    weights = Weights({name: each.target for name, each in examples.items()}, gpu)
    parts, entries = code.Parts(), {}
    written = [target_list.described(x, device) | {"code": {}} for x in targets]
    for name, example in examples.items():
        weights.begin()
        captured = _captured(example, options, targets, device)
        graph, arguments = captured.program, example.arguments
        given = [
            given_to(program, captured, arguments, weights)
            for program in graph.programs
        ]
        entries[name] = described(captured, arguments, weights, given[0])
        for target, program, own in zip(written, graph.programs, given, strict=True):
            code_ = target_list.encode(program, parts)
            others = {} if own == given[0] else {"given": own}
            target["code"][name] = {**code_, **others}
        entries[name] |= {"graph": None, "program": graph.name}
        if can_be_repeated(options):
            entries[name]["graph"] = parts.add("program.mlir", graph.text.encode())
    table, stored = weights.written()
    parts.add("weights.safetensors", tensors.encode(stored))
    made_by = {"girih": girih.__version__, "torch": torch.__version__}
    manifest = {
        "format": FORMAT,
        "name": ", ".join(_names(examples)),
        "made_by": made_by | {"python": platform.python_version()},
        "plugins": added(),
        "weights": table,
        "entries": entries,
        "targets": written,
    }
    return manifest, parts


def _names(examples: Mapping[str, Example]) -> Sequence[str]:
    """The names of entry points, or that of the function where there is one alone."""
    if len(examples) == 1:
        return [example.name for example in examples.values()]
    return list(examples)


def _device_of(examples: Mapping[str, Example]) -> torch.device:
    """Where arguments and weights are: a GPU if one of them is there."""
    found: list[Any] = []
    for example in examples.values():
        found += example.arguments.leaves
        found += (tensor for _, tensor in named_tensors(example.target))
    return target_list.device_of(found)


def _captured(
    example: Example,
    options: Options,
    targets: Sequence[target_list.Target],
    device: torch.device,
) -> capturing.WholeCall:
    from girih.compiler.packaged import packaged_graph

    reports, arguments = Reports(name=example.name), example.arguments

    def compile_(gm: torch.fx.GraphModule, inputs: Sequence[Any]) -> Any:
        return packaged_graph(gm, inputs, options, reports.begin(), targets, device)

    with capturing.marked(arguments.leaves, arguments.dims):
        call = (example.target, example.args, example.kwargs)
        return capturing.capture_whole(*call, options, compile_)
