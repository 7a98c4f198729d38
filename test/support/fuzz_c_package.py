"""The loader for C under AddressSanitizer: damaged packages, and hostile ones.

A hostile package has right checksums, and a wrong word somewhere. It may be loaded
where the word does not matter; it is never called.

python test/support/fuzz_c_package.py --seconds 60 --seed 0
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import tempfile
import time
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import c_packages
import fuzz_package

from girih.packaging import container

ROOT = Path(__file__).parents[2]
_FLAGS = "-g -O1 -std=gnu11 -pthread -fsanitize=address,undefined -fno-sanitize-recover"


def sanitized(folder: Path) -> Path:
    """``run_package.c`` with the library in it, both built with checks."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    (library,) = (
        each
        for each in project["tool"]["setuptools"]["ext-modules"]
        if each["name"].endswith("libgirih_runtime")
    )
    sources = [str(ROOT / source) for source in library["sources"]]
    include = ROOT / "codegen" / "c_runtime" / "library"
    command = [c_packages.COMPILER, *_FLAGS.split(), f"-I{include}"]
    command += [str(c_packages.SUPPORT / "run_package.c"), *sources, "-lm", "-ldl"]
    subprocess.run([*command, "-o", str(folder / "run")], check=True)
    return folder / "run"


def _places(value: Any, found: list) -> list:
    """Containers of a value of JSON, with the key or index of each thing in them."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    for key, each in list(pairs):
        found.append((value, key))
        if isinstance(each, (dict, list)):
            _places(each, found)
    return found


_STRANGE = (-1, 0, 1, 7, 1 << 31, 1 << 62, 1 << 70, 0.5, "", "x", None, True, [], {})


def _changed_json(value: dict, random_: random.Random) -> None:
    place, key = random_.choice(_places(value, []))
    if random_.random() < 0.3:
        del place[key]
    else:
        place[key] = random_.choice(_STRANGE)


def _changed_bytes(content: bytes, random_: random.Random) -> bytes:
    if not content or random_.random() < 0.1:
        return content[: random_.randrange(len(content) + 1)]
    changed = bytearray(content)
    for _ in range(random_.choice((1, 1, 2, 8))):
        at = random_.randrange(len(changed))
        changed[at] = random_.choice((0, 1, 0x7F, 0xFF, random_.randrange(256)))
    return bytes(changed)


def hostile(example: Path, path: Path, random_: random.Random) -> None:
    """Writes the example with something wrong in its manifest or in a part."""
    found = container.read(example)
    parts = {name: bytes(part) for name, part in found.parts.items()}
    kind = random_.randrange(3)
    if kind == 0:
        _changed_json(found.manifest, random_)
    elif kind == 1:
        content = parts["weights.safetensors"]
        size = int.from_bytes(content[:8], "little")
        table = json.loads(content[8 : 8 + size])
        _changed_json(table, random_)
        head = json.dumps(table).encode()
        whole = len(head).to_bytes(8, "little") + head + content[8 + size :]
        parts["weights.safetensors"] = whole
    else:
        name = random_.choice(("cprogram.bin", "kernels.o", "weights.safetensors"))
        parts[name] = _changed_bytes(parts[name], random_)
    container.write(path, found.manifest, parts)


def try_hostile(
    example: Path, runner: c_packages.Runner, folder: Path, *, seed: int, most: int
) -> Counter:
    """Loads hostile packages; says how many were refused and loaded."""
    random_, counts = random.Random(seed), Counter()
    for _ in range(most):
        hostile(example, folder / "hostile", random_)
        answer = runner.load(folder / "hostile")
        assert answer, "the loader died"
        counts["loaded" if answer == "0" else "refused"] += 1
    return counts


def _try_damages(
    content: bytes, runner: c_packages.Runner, folder: Path, seed: int, most: int
) -> int:
    random_, count = random.Random(seed), 0
    for _ in range(most):
        damaged = random_.choice(fuzz_package.DAMAGES)(content, random_)
        if damaged != content:
            (folder / "damaged").write_bytes(damaged)
            answer = runner.load(folder / "damaged")
            assert answer.startswith("2 "), f"a damaged package: {answer!r}"
            count += 1
    return count


def main() -> None:
    """Runs until the time is over."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    end, seed, counts = time.monotonic() + arguments.seconds, arguments.seed, Counter()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        example = fuzz_package.example(folder)
        examples = [example, fuzz_package.example_with_operators(folder)]
        content = example.read_bytes()
        with c_packages.Runner(sanitized(folder)) as runner:
            while time.monotonic() < end:
                counts["damaged"] += _try_damages(content, runner, folder, seed, 50)
                for each in examples:
                    counts += try_hostile(each, runner, folder, seed=seed, most=50)
                seed += 1
    print(f"damaged packages: {counts['damaged']}, all refused")
    print(f"hostile ones: {counts['refused']} refused, {counts['loaded']} loaded")


if __name__ == "__main__":
    main()
