"""Code for another processor, made from the graphs in a package."""

from __future__ import annotations

import ast
import os
from collections.abc import Mapping
from typing import Any

from girih import processors
from girih.errors import PackageError
from girih.loading import load_compiler
from girih.options import Options, make_options
from girih.packaging import code, container
from girih.packaging.loading import check_versions
from girih.reports import Report


def add_target(path: str | os.PathLike, name: str) -> None:
    """Adds code for a processor to a package; the file is replaced.

    Args:
        path: The package.
        name: As in ``targets`` of ``girih.package``.

    Raises:
        OSError: The file can't be read or written.
        PackageError: It is damaged, of other versions, has the target already, or does
            not hold all that the code depends on.
        ValueError: There is no such processor.
    """
    where = os.fspath(path)
    processor = processors.named(name, f"girih makes no code for {name!r}")
    found = container.read(path, thorough=True)
    try:
        check_versions(where, found.manifest)
        targets = found.manifest["targets"]
        added = code.processor(processor) | {"code": {}}
        if any(target["processor"] == added["processor"] for target in targets):
            what = f"has code for {added['processor']} already"
            raise PackageError(f"{where} {what}")
        parts = code.Parts(found.parts)
        _compile(found, processor, added, parts)
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        raise PackageError(f"{where} is no package of girih: {error!r}") from error
    targets.append(added)
    container.write(path, found.manifest, parts.content)


def _compile(
    found: container.Container, processor: Any, added: Mapping, parts: code.Parts
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
        raise PackageError(f"{found.path} {text}. Make it again with girih.package.")
    options = _options(found)
    for name, entry in entries.items():
        graph = bytes(found.part(entry["graph"])).decode()
        report = Report(name=entry["program"])
        program = packaged_program(graph, options, report, processor)
        added["code"][name] = code.encode(program, parts)


def _options(found: container.Container) -> Options:
    written = found.manifest["options"]
    try:
        return make_options({n: ast.literal_eval(text) for n, text in written.items()})
    except (SyntaxError, TypeError, ValueError) as error:
        text = f"was made with options that can't be read: {written}"
        raise PackageError(f"{found.path} {text}") from error
