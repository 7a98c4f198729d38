"""Which tests a change concerns, most relevant first.

``test/`` mirrors the tree, and names say the rest: a test whose name mirrors the
file's, a test that names the module, and one that has the file's name elsewhere (the
families of ops have one name everywhere). ``BEYOND`` is for what no name reaches.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath
from typing import NamedTuple

SOURCES = ("codegen", "dialects", "frontend", "girih", "passes", "tools")

REASONS = (
    "changed itself",
    "mirrors the name of what changed",
    "names the module, or uses support that changed",
    "has the same name elsewhere",
    "uses support that names the module",
    "stands in the folder that mirrors the change",
    "stands in the table of tools/mirrors.py",
)
"""Why a test is run, most relevant first; the rank of a test is a place in here."""
CHANGED, NAME, NAMED, SAME_NAME, THROUGH_SUPPORT, FOLDER, TABLE = range(len(REASONS))

BEYOND: dict[str, tuple[str, ...]] = {
    ".ci/": ("test/test_packaging.py",),
    "CHANGELOG.md": ("test/test_documents.py",),
    "Makefile": ("test/tools/test_check.py", "test/test_packaging.py"),
    "README.md": ("test/test_documents.py", "test/test_pages.py"),
    "benchmarks/": ("test/test_benchmarks.py", "test/test_gpu_benchmark.py"),
    "codegen/": ("test/test_layering.py", "test/test_style.py"),
    "codegen/c_runtime/": ("test/girih/test_package_c*.py",),
    "codegen/cpu/": ("test/numerics/test_*.py", "test/test_models.py"),
    "codegen/gpu/": ("test/emulated/test_*.py", "test/gpu/test_*.py"),
    "codegen/runtime/": ("test/emulated/test_modes.py", "test/test_models.py"),
    "constraints.txt": ("test/test_packaging.py",),
    "dialects/": ("test/test_layering.py", "test/test_style.py"),
    "dialects/graph/": ("test/numerics/test_*.py", "test/passes/test_*.py"),
    "dialects/tile/": ("test/passes/tile/*", "test/passes/convert_tile_to_cpu/*"),
    "dialects/tt/": ("test/passes/convert_tile_to_tt/*", "test/emulated/test_*.py"),
    "docs/": ("test/test_documents.py", "test/test_pages.py"),
    "examples/": ("test/test_documents.py",),
    "frontend/": ("test/test_layering.py", "test/test_style.py", "test/test_doors.py"),
    "frontend/capture/": ("test/frontend/capture/*/test_*.py",),
    "frontend/control_flow.py": ("test/frontend/capture/test_torch_transforms.py",),
    "frontend/fake/": ("test/test_bad_input.py", "test/test_dynamic_shapes.py"),
    "frontend/importer/": ("test/numerics/test_*.py", "test/test_doors.py"),
    "girih/": ("test/test_layering.py", "test/test_style.py", "test/test_doors.py"),
    "lit.cfg.py": ("test/dialects/*.mlir", "test/passes/*.mlir"),
    "passes/": ("test/test_layering.py", "test/test_style.py", "test/passes/test_*.py"),
    "passes/autograd/": ("test/numerics/derivatives/test_*.py",),
    "passes/convert_graph_to_host/": ("test/numerics/test_*.py",),
    "passes/convert_tile_to_cpu/": ("test/numerics/test_*.py",),
    "passes/convert_tile_to_tt/": ("test/emulated/test_*.py",),
    "passes/decompose/": ("test/numerics/test_*.py",),
    "passes/expand_math/": ("test/numerics/test_special_values.py",),
    "passes/fuse/": ("test/numerics/test_*.py",),
    "passes/partition/": ("test/girih/test_training.py",),
    "passes/tile/": ("test/numerics/test_*.py", "test/emulated/test_*.py"),
    "pyproject.toml": ("test/test_packaging.py",),
    "ruff.toml": ("test/test_style.py",),
    "tools/": ("test/test_layering.py", "test/test_style.py"),
}
"""Beginnings of paths, and patterns of the tests that the mirror doesn't reach."""

# Programs that tests hold as text count as well, so nothing is parsed.
_DOTTED = re.compile(r"\bgirih(?:\.\w+)+")
_FROM = re.compile(r"\bfrom (\w[\w.]*) import (\([^)]*\)|[^\n]*)")
_RUN = re.compile(r"RUN:(.*)")
_IMPORT = re.compile(r"^\s*import (\w+(?:, \w+)*)", re.M)


def all_tests(root: Path) -> tuple[str, ...]:
    """All test files, of lit and of pytest."""
    found = [*(root / "test").rglob("test_*.py"), *(root / "test").rglob("*.mlir")]
    return tuple(sorted(path.relative_to(root).as_posix() for path in found))


def relevant_tests(root: Path, changed: Iterable[str]) -> dict[str, int]:
    """Maps the tests that some changes concern to their ranks, most relevant first."""
    tree = _Tests(root)
    best: dict[str, int] = {}
    for path in changed:
        for test, rank in tree.of(PurePosixPath(path)):
            best[test] = min(rank, best.get(test, rank))
    return dict(sorted(best.items(), key=lambda entry: (entry[1], entry[0])))


def module_name(path: PurePosixPath) -> str:
    """The dotted name of a source: ``girih.passes.registry``."""
    parts = [*path.parent.parts, path.stem]
    if parts[0] != "girih":
        parts.insert(0, "girih")
    return ".".join(parts).removesuffix(".__init__")


def _plain(path: PurePosixPath) -> str:
    """The name that a test of a source has, too."""
    stem = path.parent.name if path.stem == "__init__" else path.stem
    return stem.strip("_")


def _subject(test: str) -> str:
    """The name of a test file without what says that it is one."""
    return PurePosixPath(test).stem.removeprefix("test_")


class _Tests:
    """The test files of a checkout, and what each of them names."""

    def __init__(self, root: Path):
        self.root, self.tests = root, all_tests(root)
        self._folders = {test: str(PurePosixPath(test).parent) for test in self.tests}
        self._filled = {*self._folders.values()}
        self._subjects = {test: _subject(test) for test in self.tests}

    def of(self, path: PurePosixPath) -> Iterator[tuple[str, int]]:
        """The tests of one changed file, with their ranks, some more than once."""
        if path.parts[0] == "test":
            yield from self._of_test(path)
        elif path.parts[0] in SOURCES and len(path.parts) > 1:
            yield from self._of_source(path)
        for beginning, tests in self._beyond.items():
            if str(path).startswith(beginning):
                yield from ((test, TABLE) for test in tests)

    def _of_test(self, path: PurePosixPath) -> Iterator[tuple[str, int]]:
        """A test itself; of support, the tests that use it, or those around it."""
        if str(path) in self.tests:
            yield str(path), CHANGED
        users = self._users({path.stem} if path.suffix == ".py" else set(), path.name)
        yield from ((test, NAMED) for test in users)
        if path.name == "conftest.py":
            folder = f"{path.parent}/"
            yield from ((t, FOLDER) for t in self.tests if t.startswith(folder))
        elif not users and str(path) not in self.tests:
            yield from self._in_mirror(path.parent)

    def _of_source(self, path: PurePosixPath) -> Iterator[tuple[str, int]]:
        name, folder = _plain(path), str(self._mirror(path.parent))
        for test, subject in self._subjects.items():
            is_about = subject in (name, f"{name}s")
            begins = is_about or subject.startswith(f"{name}_")
            if begins and self._folders[test] == folder:
                yield test, NAME
            elif is_about:
                yield test, SAME_NAME
        yield from self._that_name(path)
        yield from self._in_mirror(path.parent)

    def _that_name(self, path: PurePosixPath) -> Iterator[tuple[str, int]]:
        """Tests in which the module stands, or the pass in a line that runs it."""
        asked = _Asked.of(path)
        naming = {file for file, text in self._texts.items() if text.concerns(asked)}
        yield from ((test, NAMED) for test in naming.intersection(self.tests))
        support = {PurePosixPath(f).stem for f in naming.difference(self.tests)}
        yield from ((test, THROUGH_SUPPORT) for test in self._users(support))

    def _in_mirror(self, source: PurePosixPath) -> Iterator[tuple[str, int]]:
        """Tests in the folder that mirrors a source's, or that stand for it."""
        folder, above = str(self._mirror(source)), str(self._mirror(source.parent))
        for test, beside in self._folders.items():
            stands_for = self._subjects[test].startswith(source.name)
            if beside == folder != "test" or (stands_for and beside == above):
                yield test, FOLDER

    def _mirror(self, source: PurePosixPath) -> PurePosixPath:
        """The folder of tests that mirrors a folder, or the nearest one above it."""
        mirrored = source if source.parts[:1] == ("test",) else "test" / source
        while str(mirrored) not in self._filled and mirrored.name:
            mirrored = mirrored.parent
        return mirrored

    @functools.cached_property
    def _beyond(self) -> dict[str, list[str]]:
        """The tests of each line of ``BEYOND``."""
        return {
            beginning: [t for t in self.tests if any(fnmatch(t, p) for p in patterns)]
            for beginning, patterns in BEYOND.items()
        }

    @functools.cached_property
    def _texts(self) -> dict[str, _Text]:
        """The files under test/."""
        found = {}
        for path in (self.root / "test").rglob("*"):
            if path.suffix in (".py", ".mlir"):
                place = path.relative_to(self.root).as_posix()
                found[place] = _Text(path.read_text())
        return found

    def _users(self, modules: set[str], file: str = "") -> set[str]:
        """Tests that import modules of tests, also through others, or name a file."""
        modules, users, size = set(modules), set(), -1
        while size != len(users):
            size = len(users)
            for path, text in self._texts.items():
                if text.names & modules or (file and file in text.text):
                    users.add(path)
                    if not _is_test(path):
                        modules.add(PurePosixPath(path).stem)
        return users.intersection(self.tests)


class _Asked(NamedTuple):
    """What tests may name of a source.

    Attributes:
        module: Its dotted name.
        is_package: Whether it is the ``__init__`` of its folder.
        pass_name: The pass that it is, or is a part of, or None.
    """

    module: str
    is_package: bool
    pass_name: str | None

    @classmethod
    def of(cls, path: PurePosixPath) -> _Asked:
        is_pass = path.parts[0] == "passes"
        name = PurePosixPath(path.parts[1]).stem.replace("_", "-") if is_pass else None
        return cls(module_name(path), path.stem == "__init__", name)


class _Text:
    """What a file under test/ names.

    Attributes:
        text: All of it.
        names: Modules, and what is imported from them.
        inside: Modules of which something is named.
        runs: Passes and options in the lines that lit runs.
    """

    def __init__(self, text: str):
        self.text, self.names = text, _names(text)
        self.inside = {name.rpartition(".")[0] for name in self.names}
        self.runs = set(re.findall(r"[\w-]+", " ".join(_RUN.findall(text))))
        self.runs |= {word.removeprefix("--") for word in self.runs}

    def concerns(self, asked: _Asked) -> bool:
        """Whether it names the module of a source, or runs its pass."""
        # A package is not the modules in it.
        return (
            asked.module in self.names
            or (not asked.is_package and asked.module in self.inside)
            or asked.pass_name in self.runs
        )


def _is_test(path: str) -> bool:
    return PurePosixPath(path).name.startswith("test_") or path.endswith(".mlir")


def _names(text: str) -> set[str]:
    """The modules that a text names, and what it imports from them."""
    names = set(_DOTTED.findall(text))
    for module, imported in _FROM.findall(text):
        names.add(module)
        names |= {f"{module}.{name}" for name in re.findall(r"\w+", imported)}
    for modules in _IMPORT.findall(text):
        names.update(modules.split(", "))
    return names
