"""Code for another processor or GPU, made from the graphs in a package."""

from __future__ import annotations

import ast
import os
from collections.abc import Mapping, Sequence

import torch

from girih.codegen.gpu.cards import Card
from girih.errors import PackageError
from girih.loading import load_compiler
from girih.options import Options, make_options
from girih.packaging import code, container
from girih.packaging import targets as target_list
from girih.packaging.gpus import is_for_gpu
from girih.packaging.loading import check_versions
from girih.reports import Report


def add_target(path: str | os.PathLike, name: str) -> None:
    """Adds code for a processor, or a GPU, to a package; the file is replaced.

    Args:
        path: The package.
        name: As in ``targets`` of ``girih.package``.

    Raises:
        OSError: The file can't be read or written.
        PackageError: It is damaged, of other versions, has the target already, or does
            not hold all that the code depends on.
        ValueError: There is no such processor or GPU, or the file has code for GPUs
            and this is a processor, or the other way round.
    """
    where = os.fspath(path)
    found = container.read(path, thorough=True)
    try:
        check_versions(where, found.manifest)
        targets = found.manifest["targets"]
        device = _device_of(targets)
        processor = _named(name, where, for_gpu=any(map(is_for_gpu, targets)))
        added = target_list.described(processor, device) | {"code": {}}
        if any(target["processor"] == added["processor"] for target in targets):
            what = f"has code for {added['processor']} already"
            raise PackageError(f"{where} {what}")
        parts = code.Parts(found.parts)
        _compile(found, processor, device, added, parts)
    except NoTarget:
        raise
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        raise PackageError(f"{where} is no package of girih: {error!r}") from error
    targets.append(added)
    container.write(path, found.manifest, parts.content)


class NoTarget(ValueError):
    """There is no target of a name, or this file can't have it."""


def _device_of(targets: Sequence[Mapping]) -> torch.device:
    """What the graphs of a package call the device of their tensors."""
    for target in filter(is_for_gpu, targets):
        return torch.device(target["gpu"]["device"])
    return target_list.CPU


def _named(name: str, where: str, *, for_gpu: bool) -> target_list.Target:
    """The target of a name.

    Raises:
        NoTarget: There is none, or it is a GPU where the file has processors.
    """
    device = target_list.CPU
    if for_gpu and torch.cuda.is_available():
        load_compiler()
        device = torch.device("cuda", torch.cuda.current_device())
    try:
        found = target_list.one(name, f"girih makes no code for {name!r}", device)
    except ValueError as error:
        raise NoTarget(str(error)) from error
    if isinstance(found, Card) != for_gpu:
        has = "GPUs" if for_gpu else "processors"
        text = f"{where} has code for {has}, and {name!r} is none of them"
        raise NoTarget(f"{text}. Write another file with girih.package.")
    return found


def _compile(
    found: container.Container,
    processor: target_list.Target,
    device: torch.device,
    added: Mapping,
    parts: code.Parts,
) -> None:
    load_compiler()
    from girih.compiler.packaged import packaged_program
    from girih.compiler.sources import added as plugins
    from girih.plugins import load_installed

    load_installed()
    if found.manifest["plugins"] != plugins():
        text = "was made with other plugins than those that are installed here"
        raise PackageError(f"{found.path} {text}. Make it again with girih.package.")
    entries = found.manifest["entries"]
    if any(entry["graph"] is None for entry in entries.values()):
        text = "was made with passes or files of IR that it does not hold"
        if "freezing" in found.manifest["options"]:
            text = "was made with freezing, and does not hold all weights"
        raise PackageError(f"{found.path} {text}. Make it again with girih.package.")
    options = _options(found)
    for name, entry in entries.items():
        graph = bytes(found.part(entry["graph"])).decode()
        report = Report(name=entry["program"])
        program = packaged_program(graph, options, report, processor, device)
        added["code"][name] = target_list.encode(program, parts)


def _options(found: container.Container) -> Options:
    written = found.manifest["options"]
    try:
        return make_options({n: ast.literal_eval(text) for n, text in written.items()})
    except (SyntaxError, TypeError, ValueError) as error:
        text = f"was made with options that can't be read: {written}"
        raise PackageError(f"{found.path} {text}") from error
