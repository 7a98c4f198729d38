"""girih-package: says what is in a package, checks it, and takes it apart.

girih-package inspect model.girih
girih-package verify model.girih
girih-package extract model.girih folder
girih-package add-target model.girih x86-64-v3
girih-package runtime folder
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from girih.codegen import c_runtime
from girih.errors import GirihError, PackageError
from girih.packaging import container, sizes
from girih.packaging.gpus import ON_GPU, is_for_gpu

_EXAMPLES = """
The exit code is 0, or 1 where a package is damaged or can't run here.
"""


class _Parser(argparse.ArgumentParser):
    """Reports errors in one line, with exit code 1."""

    def error(self, message: str) -> Any:
        """Prints the message and exits."""
        print(f"error: {message}", file=sys.stderr)
        sys.exit(1)


def _arguments(argv: Sequence[str]) -> argparse.Namespace:
    parser = _Parser(
        prog="girih-package",
        description="Works on files that girih.package wrote; all bytes are checked.",
        epilog=_EXAMPLES,
        allow_abbrev=False,
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    helps = {
        "inspect": "print arguments, results, weights and parts",
        "verify": "check all bytes, and whether it can be loaded here",
        "extract": "write the parts and manifest.json to a folder",
        "add-target": "make code for another processor, too; needs the compiler",
    }
    for name, text in helps.items():
        command = commands.add_parser(name, help=text, description=text)
        command.add_argument("file", help="the package")
        if name == "inspect":
            command.add_argument(
                "--json", action="store_true", help="print the manifest as it is"
            )
        if name == "extract":
            command.add_argument("folder", type=Path, help="where the parts go")
        if name == "add-target":
            text = "native, x86-64-v3, cuda-sm90, ..., as girih.package has them"
            command.add_argument("target", help=text)
    text = "copy girih_runtime.h and libgirih_runtime.so to a folder, for C and C++"
    command = commands.add_parser("runtime", help=text, description=text)
    command.add_argument("folder", type=Path, help="where they go")
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command.

    Returns:
        The exit code.
    """
    arguments = _arguments(sys.argv[1:] if argv is None else argv)
    try:
        if arguments.command == "runtime":
            _copy_runtime(arguments.folder)
            return 0
        if arguments.command == "verify":
            print(_verified(arguments.file))
            return 0
        if arguments.command == "add-target":
            _add(arguments.file, arguments.target)
            return 0
        found = container.read(arguments.file, thorough=arguments.command == "extract")
        if arguments.command == "inspect":
            text = json.dumps(found.manifest, indent=2) if arguments.json else None
            print(text or described(found))
        else:
            _extract(found, arguments.folder)
    except (OSError, GirihError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def _verified(path: str) -> str:
    import torch  # noqa: F401  (the run time lives in its process)

    from girih.packaging.loading import load

    container.read(path, thorough=True)
    load(path)
    return f"{path}: all checksums are right, and it can be loaded here"


def _add(path: str, target: str) -> None:
    import torch  # noqa: F401  (the compiler lives in its process)

    from girih.packaging.adding import add_target

    add_target(path, target)
    print(f"{path}: it has code for {target}, too")


def _copy_runtime(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for source in (c_runtime.HEADER, c_runtime.LIBRARY):
        print(shutil.copy(source, folder / source.name))


def _extract(found: container.Container, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in found.parts.items():
        (folder / name).write_bytes(content)
    text = json.dumps(found.manifest, indent=2)
    (folder / "manifest.json").write_text(f"{text}\n")
    for name in ("manifest.json", *found.parts):
        print(folder / name)


def described(found: container.Container) -> str:
    """What is in a package, as text.

    Raises:
        PackageError: The manifest has another format.
    """
    try:
        return "\n".join(_lines(found))
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        text = f"{found.path} has a manifest of another format: {error!r}"
        raise PackageError(text) from error


def _lines(found: container.Container) -> Iterator[str]:
    manifest = found.manifest
    made_by = ", ".join(f"{k} {v}" for k, v in manifest["made_by"].items())
    yield f"{manifest['name']}: {found.size} bytes, made by {made_by}"
    yield from map(_target, manifest["targets"])
    yield f"weights: {len(manifest['weights'])}"
    state = [name for name, each in manifest["weights"].items() if each["written"]]
    yield f"state: {', '.join(state) or 'none'}"
    for name, entry in manifest["entries"].items():
        yield f"entry point {name}:"
        yield from (f"  {line}" for line in _lines_of_entry(entry))
        programs = [target["code"][name] for target in manifest["targets"]]
        operators = {each for program in programs for each in program["operators"]}
        kernels = ", ".join(
            str(len(program.get("binaries", program["exports"])))
            for program in programs
        )
        yield f"  kernels, by target: {kernels}"
        yield f"  library calls: {', '.join(sorted(operators)) or 'none'}"
        yield f"  runs from C: {_from_c(programs)}"
    yield "parts:"
    yield from (f"  {name}: {len(part)} bytes" for name, part in found.parts.items())


def _from_c(programs: Sequence[Mapping]) -> str:
    problems = {program.get("c_problem") for program in programs}
    if not all(program.get("c_instructions") for program in programs):
        return f"no, because of {', '.join(sorted(filter(None, problems)))}"
    needs_torch = any(program["operators"] for program in programs)
    return "yes, with torch's library" if needs_torch else "yes"


def _target(target: Mapping) -> str:
    name = target["processor"]
    if not is_for_gpu(target):
        return f"target: {name} ({target['system']}, {target['machine']})"
    major, minor = target["gpu"]["capability"]
    count = target["gpu"]["multiprocessors"]
    what = f"compute capability {major}.{minor}, {count} multiprocessors"
    return f"target: {name} (a GPU of {what})"


def _lines_of_entry(entry: Mapping) -> Iterator[str]:
    yield "arguments:"
    names = {name: each["text"] for name, each in entry["symbols"].items()}
    yield from (f"  {_argument(each, names)}" for each in entry["inputs"])
    for symbol in entry["symbols"].values():
        most = "any" if symbol["max"] is None else symbol["max"]
        yield f"sizes: {symbol['text']} from {symbol['min']} to {most}"
    for guard in entry["guards"]:
        yield f"sizes: {sizes.text_of(guard, names)}"
    yield f"results: {len(entry['outputs'])}"


def _argument(entry: Mapping, names: Mapping[str, str]) -> str:
    if entry["kind"] == "constant":
        return f"{entry['name']} = {entry['value']!r}"
    shape = ", ".join(sizes.text_of(size, names) for size in entry["sizes"])
    where = " on the GPU" if entry.get("device") == ON_GPU else ""
    written = ", written" if entry["written"] else ""
    return f"{entry['name']}: {entry['dtype']['torch']}[{shape}]{where}{written}"
