"""Changes of ``fuzz_package.example`` that make its manifest or a part wrong.

The checksums of what ``remade`` writes are right.
"""

import hashlib
import json

from girih.packaging import container


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


def a_constant_in_place_of(text, value):
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
    "a function that is none": a_constant_in_place_of(
        "data_ptr", {"entry": "os_system"}
    ),
    "a function of the module": a_constant_in_place_of("data_ptr", {"entry": "torch"}),
    "a name of torch that is no constant": a_constant_in_place_of(
        "data_ptr", {"torch": "load"}
    ),
    "a kind that is none": a_constant_in_place_of("data_ptr", {"pickle": "x"}),
    "two kinds": a_constant_in_place_of("data_ptr", {"list": [], "tuple": []}),
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

ONLY_OF_PYTHON = {
    "a function of the module",
    "a function that is none",
    "a kind that is none",
    "a name of torch that is no constant",
    "a run outside",
    "a run that is none",
    "an entry point that hides a method",
    "two kinds",
}
"""What C does not read: ``program.json``, and methods of Python's objects."""


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
    checksum = hashlib.sha256(head).digest()
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
