"""What follows a reduction, computed again at other places of its row.

A rotary embedding reads a normalised row at two places for each element. Where the row
would be stored for that, what lies between the reduction and the embedding is computed
at both places instead, from operands that the kernel reads anyway.
"""

from dataclasses import replace

from girih.dialects.dims import product
from girih.passes.fuse.chain import Chain, Pad, extend, result_shape
from girih.passes.fuse.plan import FuseOptions, Placement, chain_to_domain, is_in_place
from girih.passes.fuse.program import Kind, Need, Node, Program, Read
from girih.passes.fuse.shapes import ratio


def moves_cheaply(
    program: Program, merged: Placement, consumer: Placement, options: FuseOptions
) -> bool:
    """Returns whether ``consumer`` can compute again what it reads at other places.

    Args:
        program: the program.
        merged: the placement of both groups.
        consumer: that of the group that reads.
        options: how many ops may be computed again.
    """
    if not merged.reduced or not options.max_moved_ops:
        return False
    search = _Search(program, merged, options)
    for position in consumer.levels:
        node = program.nodes[position]
        for read in node.reads:
            if read.need is not Need.READ:
                return False
            chain = chain_to_domain(program, merged, node, read)
            if not search.is_cheap(read.value, chain):
                return False
    return True


class _Search:
    """What is computed again: how many ops, and how often an element.

    Attributes:
        ops: ops that may still be computed again.
        times: for how many results of a moved op each of its elements may be computed.
    """

    def __init__(self, program: Program, merged: Placement, options: FuseOptions):
        self.program = program
        self.merged = merged
        self.ops = options.max_moved_ops
        self.times = options.max_recompute
        self.moved: dict[int, float] = {}
        self.members = {*merged.levels, *merged.inline}
        self.seen: set[tuple[int, Chain]] = set()

    def is_cheap(self, value: int, chain: Chain) -> bool:
        """Returns whether a value can be read at the end of a chain, counting ops."""
        node = self.program.producer(value)
        if node is None or node.position not in self.members:
            return True
        source = self.program.values[value].shape
        if is_in_place(self.program, self.merged, node, source, chain):
            return True
        if (value, chain) in self.seen:
            return True
        self.seen.add((value, chain))
        if node.kind is not Kind.POINTWISE or node.is_expensive:
            return False
        if node.position in self.merged.levels and not self._takes(value, chain):
            return False
        for read in node.reads:
            if read.need is not Need.READ:
                return False
            own = self.program.values[read.value].shape
            longer = extend(own, (), [*_without_padding(node, read), *chain])
            if not self.is_cheap(read.value, longer):
                return False
        return True

    def _takes(self, value: int, chain: Chain) -> bool:
        """Counts one more place of a value; returns whether it is within the limits."""
        source = self.program.values[value].shape
        places = ratio(product(result_shape(source, chain)), product(source))
        self.ops -= 1
        self.moved[value] = self.moved.get(value, 0.0) + places
        return self.ops >= 0 and self.moved[value] <= self.times


def _without_padding(node: Node, read: Read) -> Chain:
    """The chain of a read; of what a pad reads, the padding stands beside it."""
    if node.name != "pad" or not read.chain or not isinstance(read.chain[-1], Pad):
        return read.chain
    return (*read.chain[:-1], replace(read.chain[-1], value=None))
