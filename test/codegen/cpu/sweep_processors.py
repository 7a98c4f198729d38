"""All pairs of element types, widths and lengths, compiled for other processors.

    python test/codegen/cpu/sweep_processors.py [--lengths 3 16 63] [--dtypes uint8]

Prints what LLVM fails on; exit code 1 if there is anything. `test_processors.py` has
the short form.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "support"))

from narrow_elements import ELEMENTS, masks, turned, values  # noqa: E402
from processors import failures  # noqa: E402


def _is_known_to_eager(program: Callable, arguments: tuple) -> bool:
    """Eager has no arithmetic of unsigned numbers wider than a byte."""
    try:
        program(*arguments)
    except NotImplementedError:
        return False
    return True


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lengths", type=int, nargs="+", default=[3, 16, 63, 200])
    named = {str(dtype).removeprefix("torch."): dtype for dtype in ELEMENTS}
    parser.add_argument("--dtypes", nargs="+", choices=named, default=[*named])
    parsed = parser.parse_args()
    dtypes, lengths = [named[name] for name in parsed.dtypes], parsed.lengths
    found = []
    for dtype, bits, length in itertools.product(dtypes, (128, 256, 512), lengths):
        others = [values(length + i, other) for i, other in enumerate(ELEMENTS)]
        x = values(length + len(others), dtype)
        images = [values(3 * n, dtype).view(3, n) for n in (length, length + 1)]
        for program, arguments in ((masks, (x, others)), (turned, (images,))):
            if not _is_known_to_eager(program, arguments):
                continue
            for failure in failures(program, arguments, bits):
                print(f"{program.__name__} of {length} {dtype}: {failure}", flush=True)
                found.append(failure)
    print(f"{len(found)} failures")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
