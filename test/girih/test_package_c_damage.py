"""Damaged packages and wrong manifests: C refuses them as Python does."""

import hashlib
import json
import random
from array import array

import c_packages
import fuzz_c_package
import fuzz_package
import pytest
from package_changes import CHANGES, ONLY_OF_PYTHON, TABLES, remade, written

from girih.packaging import container

pytestmark = pytest.mark.skipif(not c_packages.COMPILER, reason="no C compiler")


@pytest.fixture(scope="module")
def example(tmp_path_factory):
    return fuzz_package.example(tmp_path_factory.mktemp("package"))


@pytest.fixture(scope="module")
def runner(tmp_path_factory):
    """The library itself, with checks of addresses and of undefined behaviour."""
    program = fuzz_c_package.sanitized(tmp_path_factory.mktemp("program"))
    with c_packages.Runner(program) as made:
        yield made


def check_refused(runner, path, text=""):
    answer = runner.load(path)
    assert answer.startswith(("2 ", "4 ")) and text in answer, answer


def test_the_example_itself_is_loaded(example, runner):
    assert runner.load(example) == "0"


@pytest.mark.parametrize("damage", fuzz_package.DAMAGES)
def test_damaged_files(example, runner, tmp_path, damage):
    content, random_ = example.read_bytes(), random.Random(0)
    for _ in range(60):
        damaged = damage(content, random_)
        if damaged != content:
            (tmp_path / "p").write_bytes(damaged)
            check_refused(runner, tmp_path / "p")


def test_each_bit_of_the_head_and_some_lengths(example, runner, tmp_path):
    content = example.read_bytes()
    for at in range(0, 640, 3):
        flipped = bytes([content[at // 8] ^ 1 << at % 8])
        changed = content[: at // 8] + flipped + content[at // 8 + 1 :]
        (tmp_path / "p").write_bytes(changed)
        check_refused(runner, tmp_path / "p")
    for length in range(0, len(content), 997):
        (tmp_path / "p").write_bytes(content[:length])
        check_refused(runner, tmp_path / "p")


def test_swapped_parts(example, runner, tmp_path):
    unread = {"program.bin", "program.json", "program.mlir"}
    swapped = fuzz_package.parts_swapped(example, tmp_path, unread)
    assert len(swapped) == 12
    for path in swapped:
        check_refused(runner, path)


@pytest.mark.parametrize(
    "name", [name for name in CHANGES if name not in ONLY_OF_PYTHON]
)
def test_wrong_manifests(example, runner, tmp_path, name):
    path = remade(example, tmp_path / "p", CHANGES[name])
    check_refused(runner, path)


@pytest.mark.parametrize("change", TABLES)
def test_wrong_tables_of_parts(example, runner, tmp_path, change):
    check_refused(runner, written(tmp_path / "p", example, change), "is damaged")


def with_manifest(path, example, change):
    """The example with another text as its manifest, whose checksum is right."""
    content = example.read_bytes()
    start = container._HEAD_BYTES
    size = int.from_bytes(content[16:24], "little")
    head = change(content[start : start + size])
    checksum = hashlib.sha256(head).digest()
    size_ = len(head).to_bytes(8, "little")
    path.write_bytes(content[:16] + size_ + checksum + head + content[start + size :])
    return path


TEXTS = {
    b"": "no value",
    b'{"a": 1, "b": 2, "a": 3}': "a key that stands twice",
    b"[" * 200 + b"]" * 200: "too many levels",
    b"[1, 2": "a list or object that is cut off",
    b"{1: 2}": "a member without a key",
    b'{"a" 2}': "a key without a value",
    b'{"a": 2,}': "a member without a key",
    b'["a': "a text that is cut off",
    b'["a\\': "a text that is cut off",
    b'["\\u12': "a text that is cut off",
    b'["\\q"]': "a wrong escape in a text",
    b'["\\ud800"]': "half of a character in a text",
    b'["\\u0000"]': "a NUL in a text",
    b'["\1"]': "a control character in a text",
    b'["\xff"]': "a text that is not UTF-8",
    b'["\xc0\x80"]': "a text that is not UTF-8",
    b'["\xed\xa0\x80"]': "a text that is not UTF-8",
    b'["\xf4\x90\x80\x80"]': "a text that is not UTF-8",
    b'["\xe2\x82"]': "a text that is not UTF-8",
    b'["\\ud800\\u0041"]': "half of a character in a text",
    b"[nul]": "a word that is none",
    b"[NaN]": "a number that is none",
    b"[01]": "a number that is none",
    b"[1.]": "a number that is none",
    b"[1e]": "a number that is none",
    b"[-]": "a number that is none",
    b"[1] 2": "more than one value",
    b"[" + b"1," * (4 << 20) + b"1]": "too many values",
    b"[]": "its manifest has no table of parts",
    b'{"parts": {}}': "its manifest has no table of parts",
    b'{"parts": [{"name": "a"}]}': "its manifest describes no part",
}


@pytest.mark.parametrize("text", TEXTS, ids=lambda text: repr(text[:20]))
def test_texts_that_are_no_manifest(example, runner, tmp_path, text):
    path = with_manifest(tmp_path / "p", example, lambda _: text)
    check_refused(runner, path, TEXTS[text])


def test_numbers_texts_and_spaces_of_json(example, runner, tmp_path):
    """What other programs may write, and Python does not."""
    more = {
        "big": 1 << 70,
        "real": -1.5e-3,
        "text": '\u00e9\u20ac\U0001f600"\n',
        "n": None,
    }

    def change(head):
        manifest = json.loads(head)
        del manifest["parts"]
        manifest["made_by"]["girih"] = 'é€😀\n"'
        return json.dumps(manifest | {"parts": []} | more, ensure_ascii=False).encode()

    path = with_manifest(tmp_path / "p", example, change)
    check_refused(runner, path, "it does not end with its last part")
    assert (
        runner.load(remade(example, tmp_path / "p", lambda m, _: m.update(more))) == "0"
    )


def cprogram(change):
    def changed(manifest, parts):
        words = array("q", parts["cprogram.bin"])
        change(words)
        parts["cprogram.bin"] = words.tobytes()

    return changed


def set_word(at, value):
    return cprogram(lambda words: words.__setitem__(at, value))


PROGRAMS = {
    "another version": set_word(0, 0),
    "more inputs": set_word(1, 9),
    "a negative count": set_word(2, -1),
    "more registers than words": set_word(3, 1 << 40),
    "no registers": set_word(3, 0),
    "no values": set_word(2, 3),
    "more results": set_word(4, 50),
    "no results": set_word(4, 0),
    "no instruction": set_word(5, 99),
    "a negative instruction": set_word(5, -1),
    "cut off": cprogram(lambda words: words.pop()),
    "more behind": cprogram(lambda words: words.append(0)),
    "no words": lambda manifest, parts: parts.update({"cprogram.bin": b""}),
    "half a word": lambda manifest, parts: parts.update(
        {"cprogram.bin": parts["cprogram.bin"] + b"1234"}
    ),
    "no part": lambda manifest, parts: parts.pop("cprogram.bin"),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_wrong_instructions(example, runner, tmp_path, name):
    path = remade(example, tmp_path / "p", PROGRAMS[name])
    check_refused(runner, path, "cprogram.bin")


def test_no_word_of_a_program_leaves_its_arrays(example, runner, tmp_path):
    """Each word in turn is a number that nothing has: refused, or a number as any."""
    words = array("q", bytes(container.read(example).parts["cprogram.bin"]))
    answers = [
        runner.load(remade(example, tmp_path / "p", set_word(at, value)))
        for at in range(5, len(words))
        for value in (-1, 1 << 40)
    ]
    assert sum(answer != "0" for answer in answers) > len(answers) * 0.8


def test_hostile_packages_do_no_harm(example, runner, tmp_path):
    counts = fuzz_c_package.try_hostile(example, runner, tmp_path, seed=0, most=150)
    assert counts["refused"] > 100, json.dumps(counts)
    other = fuzz_package.example_with_operators(tmp_path)
    counts = fuzz_c_package.try_hostile(other, runner, tmp_path, seed=0, most=150)
    assert counts["refused"] == 150, json.dumps(counts)  # without torch, all are


def test_each_word_of_a_program_that_calls_operators(runner, tmp_path):
    """A wrong one is found, although the program can't run without torch."""
    example = fuzz_package.example_with_operators(tmp_path)
    words = array("q", bytes(container.read(example).parts["cprogram.bin"]))
    assert runner.load(example).startswith("4 ")
    answers = [
        runner.load(remade(example, tmp_path / "p", set_word(at, value)))
        for at in range(5, len(words))
        for value in (-2, 1 << 40)
    ]
    wrong = sum(answer.startswith("2 ") for answer in answers)
    assert wrong > len(answers) * 0.6
