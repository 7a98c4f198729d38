"""pyproject.toml, the constraints and the tree agree."""

import re
import sys
import tomllib
from importlib.metadata import distribution, entry_points
from importlib.util import find_spec
from pathlib import Path

import pytest

import girih

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
FOLDERS = PROJECT["tool"]["setuptools"]["package-dir"]


def packages_in_tree():
    for package, folder in FOLDERS.items():
        for file in (ROOT / folder).rglob("__init__.py"):
            parts = file.parent.relative_to(ROOT / folder).parts
            yield ".".join([package, *parts])


def test_every_package_is_in_the_wheel():
    listed = PROJECT["tool"]["setuptools"]["packages"]
    assert sorted(listed) == sorted(packages_in_tree())


def test_no_module_stands_outside_a_package():
    for folder in FOLDERS.values():
        for file in (ROOT / folder).rglob("*.py"):
            assert (file.parent / "__init__.py").exists(), file


def test_every_file_that_a_page_contains_is_in_the_wheel():
    listed = PROJECT["tool"]["setuptools"]["package-data"]["girih.html_report"]
    folder = ROOT / "girih" / "html_report"
    files = [file.name for file in folder.iterdir() if file.is_file()]
    assert sorted(listed) == sorted(n for n in files if not n.endswith(".py"))


def test_every_c_source_is_built():
    listed = {
        source
        for extension in PROJECT["tool"]["setuptools"]["ext-modules"]
        for source in extension["sources"]
    }
    sources = {
        str(file.relative_to(ROOT))
        for folder in FOLDERS.values()
        for file in (ROOT / folder).rglob("*.c")
    }
    assert sources == listed


def test_constraints_pin_every_direct_dependency():
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pinned = [line for line in lines if line and not line.startswith("#")]
    assert all(re.fullmatch(r"[\w.-]+==[\w.]+", line) for line in pinned), pinned
    names = {line.split("==")[0].lower().replace("_", "-") for line in pinned}
    project = PROJECT["project"]
    extras = project["optional-dependencies"]
    for requirement in project["dependencies"] + extras["test"] + extras["demo"]:
        name = re.match(r"[\w.-]+", requirement).group().lower().replace("_", "-")
        assert name in names, f"constraints.txt does not pin {name}"


@pytest.mark.skipif(sys.platform != "linux", reason="Triton is for Linux only")
def test_tests_have_triton():
    assert find_spec("triton"), "install the extra `test`: no kernel is compiled"


def test_version_is_the_same_everywhere():
    assert girih.__version__ == PROJECT["project"]["version"]
    assert girih.__version__ == distribution("girih").version


def test_licence_is_apache_with_llvm_exception():
    text = (ROOT / "LICENSE").read_text()
    assert "Apache License" in text and "LLVM Exceptions" in text


def test_torch_compile_finds_the_backend():
    (entry,) = entry_points(group="torch_dynamo_backends", name="girih")
    assert callable(entry.load())
