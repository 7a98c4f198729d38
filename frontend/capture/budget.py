"""How much one attempt to capture may cost: a loop may be long, or have no end."""

from __future__ import annotations

import time
from dataclasses import dataclass
from types import CodeType
from weakref import WeakKeyDictionary

from girih.errors import UnsupportedError

_STEPS_BETWEEN_LOOKS = 1024  # at the clock, without operations


@dataclass(frozen=True)
class Limits:
    """The most that one attempt to capture a call takes.

    Attributes:
        instructions: Instructions of bytecode, and items of iterators.
        operations: Operations in the graph.
        seconds: Of the thread's time on the processor.
    """

    instructions: int = 1_000_000
    operations: int = 30_000
    seconds: float = 60.0


DEFAULT_LIMITS = Limits()


class Budget:
    """What is left of the limits in one attempt.

    Attributes:
        exceeded: Which limit was reached.
    """

    def __init__(self, limits: Limits):
        self.limits = limits
        self._steps = 0
        self._operations = 0
        self._end = time.thread_time() + limits.seconds
        self.exceeded: tuple[str, float] | None = None

    def spend(self) -> None:
        """Notes one step of the interpreter.

        Raises:
            UnsupportedError: There have been too many, or they took too long.
        """
        self._steps += 1
        if self._steps > self.limits.instructions:
            self._exceeded("instructions", self.limits.instructions)
        if self._steps % _STEPS_BETWEEN_LOOKS == 0:
            self._look_at_clock()

    def add_operation(self) -> None:
        """Notes one operation of the graph.

        Raises:
            UnsupportedError: There have been too many.
        """
        self._operations += 1
        if self._operations > self.limits.operations:
            self._exceeded("operations", self.limits.operations)
        self._look_at_clock()  # operations are few, and one may take long

    def _look_at_clock(self) -> None:
        if time.thread_time() > self._end:
            self._exceeded("seconds", self.limits.seconds)

    def _exceeded(self, what: str, limit: float):
        self.exceeded = (what, limit)
        error = _over_budget(what, limit)
        error.break_points = ()  # a graph of a part would cost as much again
        raise error

    def remember(self, code: CodeType, error: UnsupportedError) -> None:
        """Notes that the code was given up, if that is the error."""
        if self.exceeded is not None:
            _given_up[code] = (*self.exceeded, error.met_tensors)

    def check(self, code: CodeType) -> None:
        """Looks whether the code was given up before.

        Raises:
            UnsupportedError: It was, by a limit as high as that of this budget.
        """
        if _given_up and code in _given_up:
            what, limit, met_tensors = _given_up[code]
            if getattr(self.limits, what) <= limit:
                error = _over_budget(what, limit)
                error.met_tensors = met_tensors
                raise error


def _over_budget(what: str, limit: float) -> UnsupportedError:
    return UnsupportedError(
        OVER_BUDGET,
        f"{limit:g} {what}",
        "Capture unrolls loops, and a loop may be too long or endless. The function "
        "runs as plain Python from now on. "
        f"The option 'capture_{what}' sets the limit.",
        ("Compile what the loop calls, or raise the limit.",),
    )


def forget() -> None:
    """Gives code another chance that was given up."""
    _given_up.clear()


# The limit that was reached, and whether tensors had been met by then.
_given_up: WeakKeyDictionary[CodeType, tuple[str, float, bool]] = WeakKeyDictionary()
OVER_BUDGET = "capture takes too long"


class Pause:
    """How long what brought nothing is not tried again.

    It failed for lack of memory, stack or files, or computed nothing. The next call may
    be another one; where none is, each attempt is followed by twice as many calls
    without one.
    """

    _MOST = 1 << 12

    def __init__(self):
        self._length = 0
        self._left = 0

    def lengthen(self) -> None:
        """Notes that an attempt brought nothing."""
        self._left = self._length
        self._length = min(2 * self._length + 1, self._MOST)

    @property
    def has_begun(self) -> bool:
        """Whether an attempt brought nothing."""
        return self._length > 0

    def holds(self) -> bool:
        """Whether a call goes without an attempt."""
        if not self._left:
            return False
        self._left -= 1
        return True
