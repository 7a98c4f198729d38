"""Programs as recorded graphs: when one is recorded, and which one a call replays.

A `Recorder` stands for a program. The first call of a kind (the values of numbers and
varying sizes) runs the program, so that libraries are set up; the second one records
it; later ones replay what fits them. Whatever can't be replayed runs as the program:
results are always those of a fresh call. `recording` says what a recording does about
inputs and results.

[Note: which inputs are pinned] Parameters and buffers, what the program writes, and
what lies in the memory of another recording (saved values, activations between graphs).
Any other input is pinned if the call before had it at the same address; when it is seen
elsewhere it is copied from then on.

[Note: how many graphs there are] At most `limit` for a program; the one that was not
used for longest goes. A call whose results would overwrite earlier ones that are still
in use records another graph (`MOST_ALIKE` in all, and only in a small part of the
memory that is left), and runs as the program beyond. Small results that are still in
use are copied from then on instead, unless another graph takes next to no memory. A
program that records more than `4 * limit` times has calls too different from each
other, and records no more.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from typing import Any
from weakref import WeakSet

import torch
from torch import Tensor

from .event import replay_of
from .recordable import NotRecordable, Recordable
from .recorded_inputs import writes_are_apart
from .recording import CaptureApi, Plan, Recording, Shared

MOST_ALIKE = 4
"""Graphs that differ only in where their results are."""

MOST_KINDS = 64
"""Kinds of calls whose addresses are remembered."""

COPIED_BYTES = 1 << 20
"""Results of up to so many bytes are copied once somebody kept one."""

SMALL_BYTES = 1 << 18
"""Results of up to so many bytes are copied at once beside values that are saved: users
keep losses longer than anybody keeps those."""

NEXT_TO_NOTHING = 1024
"""A graph whose memory fits so many times into what is free is doubled at no cost."""

ROOM = 4
"""Another graph that differs only in that needs so many times its memory free."""

_recorders: WeakSet[Recorder] = WeakSet()
_shared: dict[torch.device, Shared] = {}
_shared_lock = Lock()


def shared_on(api: CaptureApi) -> Shared:
    """What the recordings on a device have in common."""
    with _shared_lock:
        return _shared.setdefault(api.device, Shared(api))


def forget_recordings() -> None:
    """Drops all graphs and their memory; programs run on without."""
    for recorder in list(_recorders):
        recorder.forget()
    with _shared_lock:
        _shared.clear()


class Recorder:
    """A program that is replayed where it can be; called as the program is.

    Args:
        program: as `build_program` makes it.
        facts: what is known of it.
        shared: of the device.
        limit: most graphs at a time.
        note: called with each reason not to record, once, and with None for each graph.
        on_replay: called once for each graph, with its number from 1, when a call
            after the one that recorded it replays it.
    """

    def __init__(
        self,
        program: Callable,
        facts: Recordable,
        shared: Shared,
        *,
        limit: int = 16,
        note: Callable[[str | None], None] = lambda reason: None,
        on_replay: Callable[[int], None] = lambda number: None,
    ):
        self.program = program
        self._facts = facts
        self._shared = shared
        self._limit = limit
        self._note = note
        self._on_replay = on_replay
        self._fresh: dict[Recording, int] = {}
        self._recorded_graphs = 0
        self._noted: set[str] = set()
        self._recordings: list[Recording] = []
        self._seen: OrderedDict[tuple, list] = OrderedDict()
        self._moving: set[int] = set()
        self._cloned: frozenset[int] = frozenset()
        self._small = 0
        self._lends = True
        self._made = 0
        self._stopped = False
        _recorders.add(self)

    def __call__(self, *inputs: Any) -> tuple:
        """Runs the program or a recording of it."""
        shared = self._shared
        if self._stopped and not self._recordings or shared.api.is_capturing():
            return self.program(*inputs)
        values = (*inputs[0], *inputs[1:]) if self._facts.donated else inputs
        key = self._key(values)
        with shared.lock:
            recording = self._fitting(key, values) or self._recorded(key, values)
            if recording is not None:
                with replay_of(self.program):
                    results = recording.run(values)
        if recording is None:
            del values  # the program drops donated inputs as it goes
            return self._plain(inputs)
        if self._facts.donated:
            inputs[0].clear()
        return results

    def forget(self) -> None:
        """Drops the graphs."""
        with self._shared.lock:
            while self._recordings:
                self._drop(self._recordings[-1])
            self._seen.clear()

    # Which one ----------------------------------------------------------------------

    def _key(self, values: tuple) -> tuple:
        """What has to be equal for a recording to hold."""
        facts = self._facts
        if not facts.numbers and not facts.sizes:
            return ()
        numbers = [values[i] for i in facts.numbers]
        return (*numbers, *[values[i].size(dim) for i, dim in facts.sizes])

    def _fitting(self, key: tuple, values: tuple) -> Recording | None:
        """A recording for this call, the one that was used last first."""
        for place, recording in enumerate(self._recordings):
            if recording.key == key and recording.fits(values) and recording.is_free():
                if place:
                    self._recordings.insert(0, self._recordings.pop(place))
                if recording in self._fresh:
                    self._on_replay(self._fresh.pop(recording))
                return recording
        return None

    def _plain(self, inputs: tuple) -> tuple:
        """Runs the program; the first call shows what its results are."""
        results = self.program(*inputs)
        if self._made == 0 and isinstance(results, tuple):
            saves = len(results) > len(self._facts.returned)
            self._small = SMALL_BYTES if saves else 0
            self._lends = self._lends_any(results)
        return results

    def _lends_any(self, results: tuple) -> bool:
        """Whether there are results that would not be copied."""
        plan = self._plan()
        return any(
            isinstance(value, Tensor)
            and not plan.is_copied(place, value.untyped_storage().nbytes(), self._facts)
            for place, value in enumerate(results)
        )

    def _plan(self, *inputs: list[int]) -> Plan:
        """A plan with what is known about results."""
        positions = map(tuple, inputs or ((), (), ()))
        return Plan(*positions, self._cloned, self._small, self._lends)

    # Recording ----------------------------------------------------------------------

    def _recorded(self, key: tuple, values: tuple) -> Recording | None:
        """A new recording for this call, or None: it runs as the program."""
        addresses = [v.data_ptr() if isinstance(v, Tensor) else None for v in values]
        before = self._seen.pop(key, None)
        self._seen[key] = addresses
        if len(self._seen) > MOST_KINDS:
            self._seen.popitem(last=False)
            if not self._made:
                self._say(
                    "the calls pass ever new sizes and numbers, so a recording would "
                    "not be used again"
                )
        if before is None or self._stopped or not self._makes_way(key, values):
            return None
        if self._made >= 4 * self._limit:
            return self._stop(
                "the program was recorded too often, because its calls differ"
            )
        plan = self._planned(values, addresses, before)
        if plan is None:
            return None
        try:
            return self._record(key, values, plan)
        except NotRecordable as error:
            return self._stop(str(error))

    def _record(self, key: tuple, values: tuple, plan: Plan) -> Recording:
        self._made += 1
        recording = self._make(key, values, plan)
        if recording.lends and not plan.lends:
            recording.close()  # it must not share its memory
            self._lends = True
            recording = self._make(key, values, plan._replace(lends=True))
        self._recordings.insert(0, recording)
        while len(self._recordings) > self._limit:
            self._drop(self._recordings[-1])
        self._recorded_graphs += 1
        self._fresh[recording] = self._recorded_graphs
        self._note(None)
        return recording

    def _make(self, key: tuple, values: tuple, plan: Plan) -> Recording:
        return Recording(key, self._shared, self.program, self._facts, values, plan)

    def _planned(self, values: tuple, addresses: list, before: list) -> Plan | None:
        """How inputs are handled, or None: it is not worth it, or not possible now."""
        facts, shared = self._facts, self._shared
        pinned, copied, guessed = [], [], []
        if facts.donated and not any(map(shared.is_lent, values[: facts.donated])):
            return None  # the program that made them was not replayed
        for i, value in enumerate(values):
            if not isinstance(value, Tensor):
                continue
            if not _is_plain(value) or value.device != shared.api.device:
                return self._stop(f"input {i} is no plain tensor on the device")
            if i in facts.static or i in facts.written or shared.is_lent(value):
                pinned.append(i)
            elif i not in self._moving and addresses[i] == before[i]:
                guessed.append(i)
            else:
                copied.append(i)
        if facts.written and not writes_are_apart(values, facts):
            return None  # the program leaves this call to eager
        return self._plan(pinned, guessed, copied)

    def _makes_way(self, key: tuple, values: tuple) -> bool:
        """Looks at recordings of calls like this one: whether there may be another."""
        alike = [recording for recording in self._recordings if recording.key == key]
        for recording in alike:
            self._learn_what_moves(recording, values)
        busy = [recording for recording in alike if recording.fits(values)]
        if not busy:
            return True
        most = self._shared.api.free_bytes() if len(busy) < MOST_ALIKE else 0
        needed = max(recording.bytes for recording in busy)
        if NEXT_TO_NOTHING * needed <= most or self._copies_more(busy):
            return True
        if ROOM * needed <= most:
            return True
        self._say(
            "results of earlier calls are still in use, and a replay would "
            "overwrite them"
        )
        return False

    def _learn_what_moves(self, recording: Recording, values: tuple) -> None:
        """Inputs that were pinned as they had not moved, and have."""
        moved = recording.moved(values)
        if moved and self._moving:  # one at a time, there would be many recordings
            moved = set(recording.plan.guessed)
        self._moving |= moved
        if moved:
            self._drop(recording)

    def _copies_more(self, busy: list[Recording]) -> bool:
        """Has small results copied that a user kept, and drops what lent them."""
        small = {
            (recording, place)
            for recording in busy
            for place in recording.out()
            if place in self._facts.returned
            and recording.result_bytes(place) <= COPIED_BYTES
        }
        if not small:
            return False
        self._cloned |= {place for _, place in small}
        for recording in {recording for recording, _ in small}:
            self._drop(recording)
        return True

    def _drop(self, recording: Recording) -> None:
        self._recordings.remove(recording)
        self._fresh.pop(recording, None)
        recording.close()

    def _stop(self, reason: str) -> None:
        """Records nothing from now on."""
        self._stopped = True
        self._say(reason)

    def _say(self, reason: str) -> None:
        if reason not in self._noted:
            self._noted.add(reason)
            self._note(reason)


def _is_plain(tensor: Tensor) -> bool:
    """Whether the memory of a tensor is all that there is to it."""
    return tensor.layout is torch.strided and not (
        tensor.is_conj() or tensor.is_neg() or tensor._is_zerotensor()
    )
