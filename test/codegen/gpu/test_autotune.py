"""The fastest candidate is found, told and kept, in bounded time."""

import io

import pytest

from girih.codegen.errors import CodegenError
from girih.codegen.gpu.autotune import Candidate, Tuner

TIMES = {"library": 2.0, "small": 1.5, "large": 1.0, "same": 1.99}


class Clock:
    """Goes on by a number of seconds at each look."""

    def __init__(self, step=0.0):
        self.now, self.step = 0.0, step

    def __call__(self):
        self.now += self.step
        return self.now


def candidates(*names):
    return [Candidate(name, {"rows": len(name)}) for name in names]


def build(given):
    return iter([lambda name=candidate.name: name for candidate in given])


@pytest.fixture
def measured():
    return []


@pytest.fixture
def tuner(tmp_path, measured):
    def measure(run):
        measured.append(run())
        return TIMES[run()]

    def make(**options):
        given = {"folder": tmp_path, "output": io.StringIO(), "clock": Clock()}
        return Tuner(measure, ("device 1",), **(given | options))

    return make


def test_the_fastest_wins(tuner):
    best = tuner().best("mm", "key", candidates("library", "small", "large"), build)
    assert best == Candidate("large")
    assert best.settings == {"rows": 5}


def test_the_default_stays_where_nothing_is_clearly_faster(tuner):
    best = tuner().best("mm", "key", candidates("library", "same"), build)
    assert best == Candidate("library")


def test_results_are_kept_on_disk_by_key_and_environment(tuner, measured):
    both = candidates("library", "large")
    tuner().best("mm", "key", both, build)
    assert tuner().best("mm", "key", both, build) == Candidate("large")
    assert len(measured) == 2
    tuner().best("mm", "another", both, build)
    other = tuner(folder=None)
    other.best("mm", "key", both, build)
    other.best("mm", "key", both, build)
    assert len(measured) == 6


def test_what_cannot_be_built_is_left_out(tuner):
    def failing(given):
        class Runs:
            def __init__(self):
                self.left = list(given)

            def __next__(self):
                name = self.left.pop(0).name
                if name == "large":
                    raise CodegenError("no room")
                return lambda: name

        return Runs()

    best = tuner().best("mm", "key", candidates("library", "large", "small"), failing)
    assert best == Candidate("small")


def test_time_is_bounded(tuner, measured):
    slow = tuner(clock=Clock(3.0), seconds=8.0)
    slow.best("mm", "key", candidates("library", "small", "large", "same"), build)
    assert measured == ["library", "small", "large"]
    assert slow.best("mm", "other", candidates("same", "large"), build).name == "same"
    assert len(measured) == 3


def test_progress_is_told_after_a_second(tuner):
    slow = tuner(clock=Clock(2.0))
    slow.best("mm 64x64", "key", candidates("library", "large"), build)
    text = slow.output.getvalue()
    assert "girih: max-autotune mm 64x64: 1 of 2 measured, best 2.0000 ms" in text
    assert "2 measured, best 1.0000 ms (large)" in text
    quiet = tuner()
    quiet.best("mm", "other", candidates("library", "large"), build)
    assert quiet.output.getvalue() == ""
