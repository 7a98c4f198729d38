"""Packages with right checksums and a wrong manifest are refused, before code runs."""

import json
from array import array

import fuzz_package
import pytest
from package_changes import CHANGES, TABLES, changed_json, code, remade, written

import girih
from girih.codegen.runtime import _runtime
from girih.packaging import container


@pytest.fixture(scope="module")
def example(tmp_path_factory):
    return fuzz_package.example(tmp_path_factory.mktemp("package"))


@pytest.mark.parametrize("name", CHANGES)
def test_wrong_manifests(example, tmp_path, name):
    path = remade(example, tmp_path / "p", CHANGES[name])
    fuzz_package.check_refused(path, is_linked=True)


@pytest.mark.parametrize("change", TABLES)
def test_wrong_tables_of_parts(example, tmp_path, change):
    path = written(tmp_path / "p", example, change)
    with pytest.raises(girih.PackageError, match=TABLES[change]):
        girih.load(path)


def test_a_size_of_the_manifest_that_is_too_large(example, tmp_path):
    content = example.read_bytes()
    path = tmp_path / "p"
    path.write_bytes(content[:16] + (1 << 40).to_bytes(8, "little") + content[24:])
    with pytest.raises(girih.PackageError, match="manifest would have"):
        girih.load(path)


@pytest.mark.parametrize("number", [-1, 1, 1 << 40])
def test_calls_of_kernels_that_are_not_there(example, tmp_path, number):
    def change(manifest, parts):
        words = array("q", parts["program.bin"])
        assert len(code(manifest)["exports"]) == 1
        words[json.loads(parts["program.json"])["runs"][0]] = number
        parts["program.bin"] = words.tobytes()

    path = remade(example, tmp_path / "p", change)
    with pytest.raises(girih.PackageError, match="no call of a kernel"):
        girih.load(path)


def test_words_that_are_no_calls_of_kernels(example, tmp_path):
    """Each word of the program in place of a call's, with a number of a kernel."""
    words = array("q", bytes(container.read(example).parts["program.bin"]))
    places = [
        at
        for at in range(len(words))
        if words[at] == 0 and (at == 0 or words[at - 1] != _runtime.OP_RUN)
    ]
    assert places

    def change(manifest, parts):
        changed_json(parts, lambda known: known["runs"].append(places[-1]))

    path = remade(example, tmp_path / "p", change)
    with pytest.raises(girih.PackageError, match="no call of a kernel"):
        girih.load(path)
