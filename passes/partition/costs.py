"""What it costs to keep a value for the backward pass, and to compute it again.

Costs are in sixteenths of a byte that is read from memory: time, as far as a pass can
know it. Holding a value costs a little too, so that less is held where time does not
decide. [Note: arithmetic as bytes] A core that streams 10 GB/s issues some five vector
instructions in the time of a vector's load, so a cheap op costs a sixteenth of its
bytes, a division half of them, and a polynomial of 25 instructions one and a half. A
GPU has six times as much arithmetic for a byte (H200: 33 T instructions, 4.2 TB/s), and
less memory for what it does, so there holding costs more.
"""

from dataclasses import dataclass

from girih.dialects.definition import op_named
from girih.dialects.traits import Cost
from girih.passes.partition.max_flow import INFINITE
from girih.passes.partition.program import Kind, Node, Program
from girih.passes.partition.usage import Usage

READ = 16
WRITE = 16

# A tensor more is passed on, whatever its size (bytes).
_EACH = 512


@dataclass(frozen=True)
class Target:
    """What a byte of a result costs by the op that makes it, and what holding one does.

    Attributes:
        cheap: An addition and the like.
        medium: A division and the like.
        costly: All others.
        hold: A byte that is saved, besides its reading.
        launch: Bytes that are read in the time of one more kernel.
    """

    cheap: int
    medium: int
    costly: int
    hold: int
    launch: int = 0


TARGETS = {
    "cpu": Target(1, 8, 24, hold=4),
    "gpu": Target(1, 2, 4, hold=8, launch=4 << 20),
}
# Numbers made of a seed take some ten cycles of a GPU that waits for memory anyway;
# what is saved is the seed, so forward and backward pass agree.
_ALWAYS_AGAIN = "philox"

# What kernels of at least so many times its elements read is stored by another kernel.
_SMALLER = 256

# Multiplications in the time that it takes to read a byte.
_MULTIPLICATIONS = 8

# Times what a value costs that is not to be saved if there is a way around it.
_MUCH = 1 << 20

# A copy that is a view as a rule costs such a part of its bytes.
_VIEWED = 16

# A library op without a known number of operations, times the bytes that it touches.
_LIBRARY = 32


class Costs:
    """The costs of one joint function.

    Args of the constructor: the function, who needs what, the target, what holding a
    byte costs (default: the target's), and whether library ops may run again.
    """

    def __init__(
        self,
        program: Program,
        usage: Usage,
        target: Target,
        hold: int | None = None,
        is_frugal: bool = False,
    ):
        self._program = program
        self._usage = usage
        self._target = target
        self._hold = target.hold if hold is None else hold
        self._is_frugal = is_frugal
        self._forced: dict[int, bool] = {}

    @property
    def is_forced(self) -> bool:
        """Whether there are ops that `force` has been called for."""
        return bool(self._forced)

    def is_free(self, position: int) -> bool:
        """Whether an op may run again, and its results may be kept instead."""
        if not 0 < self.again(position) < INFINITE:
            return False
        results = self._program.nodes[position].results
        return all(self.keep(value) < INFINITE for value in results)

    def force(self, position: int, *, again: bool) -> None:
        """Has an op that is free run again in any case, or never."""
        self._forced[position] = again

    def is_reference(self, value: int) -> bool:
        """Whether it is kept as the caller's own argument or result.

        Eager would notice if the caller wrote to it only where it saves it too.
        """
        program = self._program
        if value in program.numbers:
            return True
        if value not in program.owners:
            return False
        is_argument = program.values[value].node is None
        is_kept = program.owners[value] in program.kept
        return is_kept or (is_argument and self._may_alias(value))

    def _may_alias(self, value: int) -> bool:
        """Whether a checkpoint, or a budget, asks for the argument to be used again."""
        users = (
            self._program.nodes[user] for user in self._program.values[value].users
        )
        return self._is_frugal or any(user.region is not None for user in users)

    def keep(self, value: int) -> int:
        """Keeping a value until the backward pass, and reading it there."""
        record, program = self._program.values[value], self._program
        node = program.producer(value)
        size = record.saved_bytes + _EACH
        if record.node is not None and self._forced.get(record.node):
            size *= _MUCH
        if node is None:
            if self.is_reference(value):
                return size * READ
            return size * (READ + WRITE + self._hold) + self._stored_aside(value)
        if not self._can_keep(value, node):
            return INFINITE
        if node.kind is Kind.VIEW:
            return size * (2 * READ + WRITE + self._hold)
        is_stored = value in self._usage.stored_forward
        is_copied = value in program.taken and not self.is_reference(value)
        is_written = is_copied or record.is_flag or not is_stored
        aside = 0 if is_stored else self._stored_aside(value)
        return size * (READ + self._hold + (WRITE if is_written else 0)) + aside

    def _stored_aside(self, value: int) -> int:
        """A kernel more, where those that read a value would not store it.

        Such as the scale of a channel, which is computed of arguments of its size, and
        read by a kernel over the images.
        """
        if not self._target.launch or not self._is_small_beside(value):
            return 0
        limit, pending, seen = self._program.values[value].elements, [value], set()
        while pending:
            record = self._program.values[pending.pop()]
            if record.elements > limit:
                return 0
            if record.node is None or record.node in seen:
                continue
            seen.add(record.node)
            node = self._program.nodes[record.node]
            if node.kind in (Kind.REDUCTION, Kind.LIBRARY):
                return 0
            pending += node.operands
        return READ * self._target.launch

    def _is_small_beside(self, value: int) -> bool:
        """Whether all that a value ends in, in the forward pass, is much larger."""
        values, pending, found = self._program.values, [value], False
        least, seen = values[value].elements * _SMALLER, set()
        while pending:
            users = self._usage.forward.intersection(values[pending.pop()].users)
            for user in users - seen:
                node = self._program.nodes[user]
                if all(values[v].elements >= least for v in node.results):
                    found = True
                elif node.kind in (Kind.VIEW, Kind.POINTWISE):
                    pending += node.results
                else:
                    return False
            seen |= users
        return found

    def _can_keep(self, value: int, node: Node) -> bool:
        if node.kind is Kind.CREATION or value in self._usage.inner:
            return False
        if node.kind is not Kind.VIEW:
            return True
        base = self._program.values[value].base
        return node.name == "slice" and self._program.values[base].node is not None

    def again(self, position: int) -> int:
        """Running an op of the forward pass in the backward pass too."""
        node = self._program.nodes[position]
        if position in self._forced:
            return 0 if self._forced[position] else INFINITE
        if node.is_ordered:
            return INFINITE
        if position in self._usage.late or node.kind in (Kind.CREATION, Kind.VIEW):
            return 0
        if node.is_copy:
            return READ * self._bytes(node.results) // _VIEWED
        if node.kind is Kind.LIBRARY:
            may_run = self._is_frugal or node.region is not None
            return self._library(node) if may_run else INFINITE
        return self._kernel(node) + self._stored_again(node)

    def _library(self, node: Node) -> int:
        touched = self._bytes(node.operands) + self._bytes(node.results)
        work = node.work // _MULTIPLICATIONS
        return READ * (touched + work if node.work else _LIBRARY * touched)

    def _kernel(self, node: Node) -> int:
        cost = self._cost_of_op(node.name)
        if node.kind is Kind.REDUCTION:
            return (READ + cost) * self._bytes(node.operands)
        result = self._program.values[node.results[0]]
        return cost * result.elements * max(4, result.width)

    def _stored_again(self, node: Node) -> int:
        """What it costs to have the results of a kernel in memory once more."""
        stored = self._usage.stored_backward
        is_stored = not node.is_native or any(v in stored for v in node.results)
        return (READ + WRITE) * self._bytes(node.results) if is_stored else 0

    def _bytes(self, values: tuple[int, ...]) -> int:
        return sum(self._program.values[value].bytes for value in values)

    def _cost_of_op(self, name: str) -> int:
        if name == _ALWAYS_AGAIN:
            return 0
        cost = op_named(name).COST
        if cost is Cost.CHEAP:
            return self._target.cheap
        return self._target.medium if cost is Cost.DIVISION else self._target.costly
