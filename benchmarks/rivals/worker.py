"""One engine on one network, in a process of its own; prints one line of JSON.

Pools of threads that wait for work by spinning take the processor from other engines,
so engines do not share a process.
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import asdict, dataclass

import torch

from benchmarks import agreement, measure
from benchmarks.rivals.engines import ENGINES
from benchmarks.rivals.networks import make

TOLERANCE = {torch.float32: 1e-3, torch.bfloat16: 0.1}
"""Of results, relative to the largest: many layers add up what roundings differ by."""


@dataclass(frozen=True)
class Task:
    """What a worker measures.

    Attributes:
        network: As ``networks.make`` takes it.
        engine: A name of ``ENGINES``.
        batch: Images or sequences.
        dtype: ``float32`` or ``bfloat16``.
        threads: How many the engine may use.
        seconds: How long calls are measured.
    """

    network: str
    engine: str
    batch: int
    dtype: str
    threads: int
    seconds: float


def run(task: Task) -> dict:
    """Checks and measures; returns the row.

    Raises:
        Disagreement: The result differs from eager's.
    """
    torch.set_num_threads(task.threads)
    dtype = getattr(torch, task.dtype)
    module, x = make(task.network, task.batch, dtype)
    with torch.inference_mode():
        expected = module(x).clone()
    with torch.no_grad():
        start = time.perf_counter()
        call = ENGINES[task.engine](module, x)
        actual = call()
        first = time.perf_counter() - start
        difference = agreement.difference(actual, expected)
        if not difference <= TOLERANCE[dtype]:
            raise agreement.Disagreement(
                f"{task.engine} differs from eager by {difference:.1e}"
            )
        timings = measure.measure({"": call}, seconds=task.seconds, min_rounds=9)
    found = timings[""]
    return {
        **asdict(task),
        "median": found.median,
        "minimum": found.minimum,
        "first": first,
        "difference": difference,
    }


if __name__ == "__main__":
    measure.keep_freed_memory()
    print(json.dumps(run(Task(**json.loads(sys.argv[1])))))
