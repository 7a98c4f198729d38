"""Damaged packages: each is refused with girih's error before any of its code runs.

python test/support/fuzz_package.py --seconds 60 --seed 0
"""

import argparse
import random
import tempfile
import time
from collections.abc import Container
from pathlib import Path

import torch

import girih
from girih.packaging import code, container


def example(folder: Path) -> Path:
    """A small package with kernels, weights and a symbolic size."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.GELU()).eval()
    shapes = {"input": {0: torch.export.Dim("batch", min=2, max=64)}}
    path = folder / "model.girih"
    return girih.package(model, (torch.randn(4, 8),), path=path, dynamic_shapes=shapes)


def example_with_operators(folder: Path) -> Path:
    """A package that calls operators of torch, with several kinds of arguments."""

    offset = torch.arange(8.0)

    def model(x):
        values, places = torch.sort(x + offset, stable=True, dim=-1)
        found = torch.searchsorted(values, x * 2, side="right")
        return torch.cat([places, found, found], 0) + 1

    path = folder / "operators.girih"
    return girih.package(model, (torch.randn(3, 8),), path=path)


def bit_flipped(content: bytes, random_: random.Random) -> bytes:
    at = random_.randrange(len(content))
    flipped = content[at] ^ 1 << random_.randrange(8)
    return content[:at] + bytes([flipped]) + content[at + 1 :]


def truncated(content: bytes, random_: random.Random) -> bytes:
    return content[: random_.randrange(len(content))]


def lengthened(content: bytes, random_: random.Random) -> bytes:
    return content + random_.randbytes(random_.randrange(1, 100))


def overwritten(content: bytes, random_: random.Random) -> bytes:
    count = random_.randrange(2, 200)
    at = random_.randrange(len(content) - count)
    filler = random_.choice([bytes(count), b"\xff" * count, random_.randbytes(count)])
    return content[:at] + filler + content[at + count :]


def spans_swapped(content: bytes, random_: random.Random) -> bytes:
    count = random_.randrange(1, len(content) // 4)
    first = random_.randrange(len(content) // 2 - count)
    second = random_.randrange(len(content) // 2, len(content) - count)
    swapped = bytearray(content)
    swapped[first : first + count] = content[second : second + count]
    swapped[second : second + count] = content[first : first + count]
    return bytes(swapped)


DAMAGES = (bit_flipped, truncated, lengthened, overwritten, spans_swapped)


def parts_swapped(path: Path, target: Path, unread: Container[str]) -> list[Path]:
    """Packages with right checksums, and parts in the places of others.

    Two parts that the loader does not read stay where they are.
    """
    found = container.read(path)
    names = list(found.parts)
    written = []
    for number, first in enumerate(names):
        for second in names[number + 1 :]:
            if first in unread and second in unread:
                continue
            parts = dict(found.parts)
            parts[first], parts[second] = parts[second], parts[first]
            written.append(target / f"{first}-{second}.girih")
            container.write(written[-1], found.manifest, parts)
    return written


def check_refused(path: Path, *, is_linked: bool = False) -> None:
    """Loads a damaged package, with an alarm where its code would be linked.

    Args:
        path: The package.
        is_linked: Whether its code may be linked before it is refused.
    """

    def alarm(*_):
        raise AssertionError(f"{path}: code of a damaged package was linked")

    original = code.link
    code.link = original if is_linked else alarm
    try:
        girih.load(path)
    except girih.PackageError:
        return
    finally:
        code.link = original
    raise AssertionError(f"{path}: a damaged package was loaded")


def try_damages(content: bytes, folder: Path, seed: int, seconds: float, most: int):
    """Refuses up to ``most`` damaged packages; returns how many there were."""
    random_, end, count = random.Random(seed), time.monotonic() + seconds, 0
    path = folder / "damaged.girih"
    while count < most and time.monotonic() < end:
        damaged = random_.choice(DAMAGES)(content, random_)
        if damaged != content:
            path.write_bytes(damaged)
            check_refused(path)
            count += 1
    return count


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = example(Path(folder))
        content = path.read_bytes()
        given = (content, Path(folder), arguments.seed, arguments.seconds, 1 << 60)
        count = try_damages(*given)
    print(f"{count} damaged packages: all refused")


if __name__ == "__main__":
    main()
