"""Every module class of ``torch.nn`` against eager; ``make modules``.

Prints each call that does not give what eager gives: values, gradients, parameters and
buffers, errors, the state of the generator.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[1] / "support")]

import torch  # noqa: E402
from module_calls import ENTRANCES, MODULES, cases, differences  # noqa: E402


def main() -> int:
    """Tries what the arguments ask for; the exit code tells whether all is right."""
    options = _parsed()
    start, kinds, tried, is_right = time.monotonic(), Counter(), 0, True
    part, parts = map(int, options.part.split("/"))
    names = (options.modules or list(MODULES))[part - 1 :: parts]
    for position, name in enumerate(names, 1):
        print(f"\r{position}/{len(names)} {name:40}", end="", file=sys.stderr)
        for case in cases(name, options.limit):
            for entrance in options.entrances or ENTRANCES:
                for dynamic in (None, True):
                    tried += 1
                    for found in differences(case, entrance, dynamic):
                        kinds[found.kind] += 1
                        is_right &= not found.is_wrong
                        if found.is_wrong or options.verbose:
                            print(found, flush=True)
    total = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
    seconds = time.monotonic() - start
    print(f"{tried} modules in {seconds:.0f} s: {total or 'no difference'}")
    return int(not is_right)


def _parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "modules", nargs="*", metavar="nn.NAME", help="classes; default: all"
    )
    parser.add_argument(
        "--entrances", nargs="+", choices=ENTRANCES, help="default: all"
    )
    parser.add_argument("--limit", type=int, default=3, help="samples of each module")
    parser.add_argument("--part", default="1/1", help="2/3: the second third of all")
    parser.add_argument(
        "-v", "--verbose", action="store_true", help="also fallbacks, and TorchDynamo's"
    )
    return parser.parse_args()


if __name__ == "__main__":
    torch.set_num_threads(1)
    # All modules of a class have the same code.
    torch._dynamo.config.recompile_limit = 1 << 20
    torch._dynamo.config.accumulated_recompile_limit = 1 << 20
    sys.exit(main())
