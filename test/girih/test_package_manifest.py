"""Packages with right checksums and a wrong manifest are refused, before code runs."""

import json
from array import array

import fuzz_package
import pytest

import girih
from girih.codegen.runtime import _runtime
from girih.packaging import container


@pytest.fixture(scope="module")
def example(tmp_path_factory):
    return fuzz_package.example(tmp_path_factory.mktemp("package"))


def remade(example, path, change):
    """A package with other parts or another manifest."""
    found = container.read(example)
    parts = {name: bytes(part) for name, part in found.parts.items()}
    change(found.manifest, parts)
    container.write(path, found.manifest, parts)
    return path


def changed_json(parts, change):
    known = json.loads(parts["program.json"])
    change(known)
    parts["program.json"] = json.dumps(known).encode()


def changed_tensors(parts, change):
    content = parts["weights.safetensors"]
    size = int.from_bytes(content[:8], "little")
    table = json.loads(content[8 : 8 + size])
    change(table)
    head = json.dumps(table).encode()
    rest = content[8 + size :]
    parts["weights.safetensors"] = len(head).to_bytes(8, "little") + head + rest


def an_operator_in_place_of(text, value):
    """Replaces the first constant that has a text in it."""

    def change(known):
        at = next(n for n, x in enumerate(known["constants"]) if text in json.dumps(x))
        known["constants"][at] = value

    return lambda manifest, parts: changed_json(parts, change)


WEIGHT = "0.weight"


def code(manifest):
    (target,) = manifest["targets"]
    return target["code"]["main"]


def weight(**fields):
    return lambda manifest, parts: manifest["weights"][WEIGHT].update(fields)


def entry(change):
    return lambda manifest, parts: change(manifest["entries"]["main"])


def tensor(**fields):
    return lambda manifest, parts: changed_tensors(
        parts, lambda table: table[WEIGHT].update(fields)
    )


LEAF = {"kind": "constant", "name": "n", "value": 3}
CHANGES = {
    "a run that is none": lambda m, parts: changed_json(
        parts, lambda known: known["runs"].append(1)
    ),
    "a run outside": lambda m, parts: changed_json(
        parts, lambda known: known["runs"].append(1 << 40)
    ),
    "an export that is not there": lambda m, parts: code(m)["exports"].append("f"),
    "fewer exports": lambda m, parts: code(m).update(exports=["no_such"]),
    "an import that is not there": lambda m, parts: code(m).update(imports=["f?"]),
    "a function that is none": an_operator_in_place_of("aten", {"entry": "os_system"}),
    "a function of the module": an_operator_in_place_of("aten", {"entry": "torch"}),
    "a name of torch that is no constant": an_operator_in_place_of(
        "aten", {"torch": "load"}
    ),
    "a kind that is none": an_operator_in_place_of("aten", {"pickle": "x"}),
    "two kinds": an_operator_in_place_of("aten", {"list": [], "tuple": []}),
    "instructions that are not there": lambda m, parts: code(m).update(
        instructions="program2.bin"
    ),
    "kernels that are not there": lambda m, parts: code(m).update(kernels=None),
    "no entry point": lambda m, parts: m.update(entries={}),
    "an entry point without code": lambda m, parts: m["entries"].update(
        other=m["entries"]["main"]
    ),
    "code without an entry point": lambda m, parts: m["targets"][0]["code"].update(
        other=code(m)
    ),
    "an entry point that hides a method": lambda m, parts: (
        m["entries"].update(reset=m["entries"].pop("main")),
        m["targets"][0].update(code={"reset": code(m)}),
    ),
    "a negative size": weight(sizes=[-1, 8]),
    "a negative stride": weight(strides=[-8, 1]),
    "a negative offset": weight(offset=-1),
    "an offset that is no number": weight(offset=1.0),
    "an offset that is too large": weight(offset=1),
    "large sizes": weight(sizes=[1 << 40, 8]),
    "strides of another rank": weight(strides=[8]),
    "a tensor that is not there": weight(tensor="no"),
    "a tensor with a large end": tensor(data_offsets=[0, 1 << 40]),
    "a tensor that is longer": tensor(shape=[1 << 20, 8]),
    "a tensor with a negative begin": tensor(data_offsets=[-512, 0]),
    "a tensor of another type": tensor(dtype="F33"),
    "a tensor with a negative size": tensor(shape=[-16, -8]),
    "tensors that are cut off": lambda m, parts: parts.update(
        {"weights.safetensors": (1 << 40).to_bytes(8, "little")}
    ),
    "no tensors": lambda m, parts: parts.update({"weights.safetensors": b""}),
    "no program": lambda m, parts: parts.pop("program.bin"),
    "an input that is not there": entry(lambda e: e.update(given=[["input", 7]] * 3)),
    "an input before the first": entry(lambda e: e.update(given=[["input", -1]] * 3)),
    "an input of another kind": entry(lambda e: e.update(given=[["value", 0]] * 3)),
    "fewer inputs": entry(lambda e: e["given"].pop()),
    "an input that is no tensor": entry(lambda e: e["inputs"].__setitem__(0, LEAF)),
    "more leaves": entry(lambda e: e["inputs"].append(LEAF)),
    "more outputs": entry(lambda e: e["outputs"].append(e["outputs"][0])),
    "an output before the first": entry(lambda e: e.update(outputs=[["result", -1]])),
    "an output that is not there": entry(lambda e: e.update(outputs=[["result", 9]])),
    "a guard with an unknown operator": entry(
        lambda e: e["guards"].append(["exec", 1, 2])
    ),
    "a guard with an unknown symbol": entry(
        lambda e: e["guards"].append(["<", "t", 2])
    ),
    "a size with an unknown symbol": entry(
        lambda e: e["inputs"][0].update(sizes=["t", 8])
    ),
    "a stride with an unknown operator": entry(
        lambda e: e["inputs"][0].update(strides=[["exec", 8], 1])
    ),
}


@pytest.mark.parametrize("name", CHANGES)
def test_wrong_manifests(example, tmp_path, name):
    path = remade(example, tmp_path / "p", CHANGES[name])
    fuzz_package.check_refused(path, is_linked=True)


def written(path, example, change):
    """A file whose manifest is right, and whose table of parts is changed."""
    content = example.read_bytes()
    start = container._HEAD_BYTES
    size = int.from_bytes(content[16:24], "little")
    manifest = json.loads(content[start : start + size])
    rest = change(manifest, content[start + size :]) or content[start + size :]
    head = json.dumps(manifest, sort_keys=True).encode()
    head += b" " * (size - len(head))
    assert len(head) == size
    checksum = container.hashlib.sha256(head).digest()
    path.write_bytes(content[:24] + checksum + head + rest)
    return path


def renamed(manifest, rest):
    manifest["parts"][0]["name"] = "../" + manifest["parts"][0]["name"][3:]


def named_twice(manifest, rest):
    manifest["parts"][0]["name"] = manifest["parts"][1]["name"]


def filled(manifest, rest):
    assert rest[0] == 0, "the first part begins behind a gap"
    return b"\1" + rest[1:]


def moved(manifest, rest):
    part = manifest["parts"][0]
    part.update(offset=part["offset"] + 1, size=part["size"] - 1)


def too_long(manifest, rest):
    part = manifest["parts"][-1]
    part["size"] = int("9" * len(str(part["size"])))


def followed(manifest, rest):
    return rest + b"\0"


TABLES = {
    renamed: "there are bytes before the part '../",
    named_twice: "there are bytes before the part 'program.bin'",
    filled: "there are bytes before the part 'program.json'",
    moved: "outside of its place",
    too_long: "outside of its place",
    followed: "bytes, expected",
}


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
