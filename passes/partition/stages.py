"""Which values lie in memory: what library ops read and make, and several kernels read.

A stage is what runs between two library ops: an op that waits for a library op can't
share a kernel with one before it. A value that ops of one stage read is computed there,
so it reads its operands there.
"""

from collections.abc import Set

from girih.passes.partition.program import Kind, Node, Program


def stored_forward(program: Program, forward: Set[int]) -> frozenset[int]:
    """Values that lie in memory in the forward pass, whatever is saved."""
    stages = _stages(program, forward)
    readers: dict[int, set[int]] = {}
    stored = {*program.results, *program.taken}
    for position in sorted(forward, reverse=True):
        node = program.nodes[position]
        if node.kind is Kind.VIEW:
            continue
        is_library = _is_library(node)
        stage = stages[position]
        for value in node.results:
            seen = readers.get(value, set())
            if is_library or len(seen) > 1:
                stored.add(value)
            elif seen and node.kind is Kind.POINTWISE and value not in stored:
                stage = max(seen)
        _read(program, node, {stage}, readers)
        if is_library:
            stored.update(program.values[value].base for value in node.operands)
    return frozenset(stored)


def stored_backward(
    program: Program,
    backward: Set[int],
    others: Set[int],
    stored_before: Set[int],
) -> frozenset[int]:
    """Values that would lie in memory in the backward pass, computed again there.

    Kernels of several stages share a value only where that spares reading: a cast from
    16 bits is computed by each of them. What a library op reads in both passes is saved
    rather than stored again, so nothing is read to compute it.

    Args:
        program: The joint function.
        backward: Its ops that depend on cotangents.
        others: Its other ops; those of no library can run again.
        stored_before: Values that lie in memory in the forward pass.
    """
    stages = _stages(program, backward)
    reads = _bytes_read(program, others)
    readers: dict[int, set[int]] = {}
    stored: set[int] = set()
    for position in sorted(backward | others, reverse=True):
        node = program.nodes[position]
        if node.kind is Kind.VIEW:
            continue
        seen = {stage for value in node.results for stage in readers.get(value, ())}
        if position in backward:
            is_late = node.kind is Kind.POINTWISE and len(seen) == 1
            _read(program, node, seen if is_late else {stages[position]}, readers)
            if _is_library(node):
                stored.update(program.values[value].base for value in node.operands)
        elif seen and not _is_library(node):
            results = set(node.results)
            if results <= stored and results <= stored_before:
                continue
            least = sum(program.values[result].bytes for result in results)
            if len(seen) > 1 and reads[position] > least:
                stored |= results
                seen = {min(seen)}
            _read(program, node, seen, readers)
    return frozenset(stored)


def _is_library(node: Node) -> bool:
    return node.kind is Kind.LIBRARY or not node.is_native


def _read(
    program: Program, node: Node, stages: Set[int], readers: dict[int, set[int]]
) -> None:
    for value in node.operands:
        readers.setdefault(program.values[value].base, set()).update(stages)


def _bytes_read(program: Program, positions: Set[int]) -> dict[int, int]:
    """For each op, the least bytes that a kernel reads which computes it."""
    least: dict[int, int] = {}
    reads = {}
    for position in sorted(positions):
        node = program.nodes[position]
        bases = {program.values[value].base for value in node.operands}
        reads[position] = sum(
            least.get(base, program.values[base].bytes) for base in bases
        )
        if node.kind is Kind.CREATION:
            least.update(dict.fromkeys(node.results, 0))
        elif node.kind is Kind.POINTWISE and node.is_native:
            for value in node.results:
                least[value] = min(program.values[value].bytes, reads[position])
    return reads


def _stages(program: Program, positions: Set[int]) -> dict[int, int]:
    """How many library ops stand one after the other before each of some ops."""
    behind = [0] * len(program.values)
    stages = {}
    for position in sorted(positions):
        node = program.nodes[position]
        stage = max((behind[value] for value in node.operands), default=0)
        stages[position] = stage
        for value in node.results:
            behind[value] = stage + (node.kind is Kind.LIBRARY)
    return stages
