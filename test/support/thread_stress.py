"""32 threads compile and call 32 functions, and reset them, for some seconds.

``python test/support/thread_stress.py --seconds 30 --backend girih`` prints what
happened; the exit code is 1 where a result was wrong, a thread hung or memory grew.
"""

from __future__ import annotations

import argparse
import faulthandler
import random
import sys
import threading
import time
import types
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import torch
from capture_differential import outcome

import girih

THREADS = FUNCTIONS = 32
GRACE_SECONDS = 60
GROWTH_MEGABYTES = 48
RESETS = 0.005  # of one function, after a call


def scaled(x, n):
    return (x * n).relu() + 1


def softmax(x, n):
    return torch.softmax(x * n, -1)


def containers(x, n):
    return {"sum": x.sum(0) + n, "parts": [x - n, (x,)]}


def loop(x, n):
    parts = []
    for i in range(n):
        parts.append(x + i)
    return torch.stack(parts).mean()


def state(x, n):
    with torch.no_grad():
        y = x.exp() * n
    return y + x


def raises(x, n):
    if n == 3:
        raise ValueError("three")
    return x - n


def breaks(x, n):
    y = x + n
    if y.sum().item() > 0:
        return y * 2
    return helper(y, n)


def helper(x, n):
    return x - n * x.mean()


def writes(x, n):
    y = x.clone()
    y[0] = n
    y.mul_(2)
    return y


class Layer(torch.nn.Module):
    """Parameters, and a buffer that is only read: threads share the module."""

    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)
        self.register_buffer("offset", torch.ones(4))

    def forward(self, x, n):
        """A value that depends on everything."""
        return torch.tanh(self.linear(x)) * n + self.offset


BODIES = (scaled, softmax, containers, loop, state, raises, breaks, writes)


@dataclass
class Stress:
    """One run.

    Attributes:
        backend: As for ``girih.compile``.
        seconds: How long it goes on.
        calls: How many calls each thread compared.
        failures: What was wrong, as text.
        memory: Resident megabytes, sampled.
    """

    backend: str
    seconds: float
    calls: list[int] = field(default_factory=lambda: [0] * THREADS)
    failures: list[str] = field(default_factory=list)
    memory: list[float] = field(default_factory=list)

    def __post_init__(self):
        torch.manual_seed(0)
        self.plain = [_function(number) for number in range(FUNCTIONS)]
        self.compiled = [girih.compile(f, backend=self.backend) for f in self.plain]

    def run(self) -> None:
        """Starts the threads and waits for them."""
        self.end = time.monotonic() + self.seconds
        threads = [
            threading.Thread(target=self._work, args=(number,), daemon=True)
            for number in range(THREADS)
        ]
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            time.sleep(min(0.5, self.seconds / 20))
            self.memory.append(resident_megabytes())
            if time.monotonic() > self.end + GRACE_SECONDS:
                faulthandler.dump_traceback(all_threads=True)
                self.failures.append("threads hang; see their stacks")
                return

    def _work(self, number: int) -> None:
        generator = random.Random(number)
        try:
            while time.monotonic() < self.end and not self.failures:
                self._step(generator)
                self.calls[number] += 1
        except BaseException as error:
            self.failures.append(f"{type(error).__name__}: {error}")

    def _step(self, generator: random.Random) -> None:
        index = generator.randrange(FUNCTIONS)
        size, n = generator.choice((2, 3, 5, 8)), generator.choice((1, 2, 3))
        x = torch.randn(size, 4)
        with torch.set_grad_enabled(generator.random() < 0.5):
            expected = outcome(self.plain[index], (x.clone(), n), {})
            actual = outcome(self.compiled[index], (x.clone(), n), {})
        _compare(self.plain[index], actual, expected)
        if generator.random() < RESETS:
            _reset(generator.choice(self.compiled))
        if generator.random() < RESETS / 32:
            girih.reset()

    def growth(self) -> float:
        """Megabytes gained in the second half, as the means of quarters tell."""
        quarter = max(1, len(self.memory) // 4)
        last, before = self.memory[-quarter:], self.memory[-2 * quarter : -quarter]
        return sum(last) / len(last) - sum(before) / max(1, len(before))


def _function(number: int) -> Callable:
    """One of 32 functions; several have the same code, or are the same module."""
    if number % 4 == 3:
        return Layer().eval()
    body = BODIES[(number // 4 + number) % len(BODIES)]
    return types.FunctionType(
        body.__code__, body.__globals__, f"{body.__name__}_{number}"
    )


def _reset(compiled) -> None:
    getattr(compiled, "girih_call", compiled).reset()


def _compare(function, actual, expected) -> None:
    (how, result), (expected_how, expected_result) = actual, expected
    name = getattr(function, "__name__", type(function).__name__)
    assert how == expected_how, f"{name} {how} {result!r}, expected {expected_result!r}"
    if how == "raised":
        assert repr(result) == repr(expected_result), (name, result, expected_result)
        return
    torch.testing.assert_close(
        result,
        expected_result,
        rtol=1e-4,
        atol=1e-4,
        msg=lambda text: f"{name}: {text}",
    )
    if isinstance(expected_result, torch.Tensor):
        assert result.requires_grad == expected_result.requires_grad, name


def resident_megabytes() -> float:
    """The memory of this process that is in use, as the system sees it."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 / 2**20


def main() -> int:
    """Runs it as the command line says; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--backend", default="girih", choices=girih.list_backends(()))
    parser.add_argument(
        "--switch", type=float, default=1e-4, help="seconds a thread runs"
    )
    parsed = parser.parse_args()
    sys.setswitchinterval(parsed.switch)
    stress = Stress(parsed.backend, parsed.seconds)
    stress.run()
    grown = stress.growth() > GROWTH_MEGABYTES
    for failure in stress.failures[:8]:
        print(failure)
    print(
        f"{sum(stress.calls)} calls by {THREADS} threads, {len(stress.failures)} wrong"
    )
    first, last = stress.memory[0], stress.memory[-1]
    print(f"{first:.0f} to {last:.0f} MB, {stress.growth():+.1f} in the last quarter")
    return int(bool(stress.failures) or grown)


if __name__ == "__main__":
    sys.exit(main())
