"""Runs nets, each without a defect and with each of its own, in child processes.

    python test/outside/planted            # all but "memory"
    python test/outside/planted memory     # in a process with guarded memory

Prints a line of JSON for each pair: the net, the defect (or ""), and what was found.
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:] = [str(HERE.parent), str(HERE.parents[1] / "support"), *sys.path[1:]]

import pytest  # noqa: E402
import torch  # noqa: E402
from children import in_children  # noqa: E402

import girih  # noqa: E402
from planted.defects import DEFECTS  # noqa: E402
from planted.nets import NETS  # noqa: E402

SECONDS = 120.0


def _pairs(chosen: list[str]) -> list[tuple[str, str]]:
    """Each net without a defect, then with each that it has to find."""
    return [
        (net, defect)
        for net in chosen or [net for net in NETS if net != "memory"]
        for defect in ["", *(d for d, (_, nets) in DEFECTS.items() if net in nets)]
    ]


def _work(pair, send) -> None:
    net, defect = pair
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    if defect:
        DEFECTS[defect][0](pytest.MonkeyPatch())
    send("planted")
    send(NETS[net]())


def _warm_up() -> None:
    """Imports what compiling needs, once for all children. No threads are started."""
    torch.set_num_threads(1)
    x = torch.ones(3, requires_grad=True)
    girih.compile(lambda x: (x + 1).sum(), options={"cache": False})(x).backward()


def main() -> None:
    """Runs the nets that the command line names."""
    _warm_up()
    for pair, outcome in in_children(_pairs(sys.argv[1:]), _work, 2, SECONDS):
        assert outcome.messages, f"{pair[1]} can't be planted: {outcome.output}"
        found = outcome.ended and f"{outcome.ended}: {outcome.output}"
        line = {"net": pair[0], "defect": pair[1], "seconds": outcome.seconds}
        line["found"] = found or outcome.messages[-1]
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
