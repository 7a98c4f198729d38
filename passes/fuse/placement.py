"""Whether two groups fit into one iteration space, and which.

A producer group and a consumer group fit *anchored* when both have their values at
coordinates of one domain (reshapes of it included); a producer without reductions that
nobody else needs fits *inline*, computed wherever the consumer reads it.
"""

from collections.abc import Iterable

from girih.dialects.dims import Size, product
from girih.passes.fuse.chain import (
    Chain,
    Reshape,
    Take,
    extend,
    result_shape,
    without_trailing_broadcast,
)
from girih.passes.fuse.moved import moves_cheaply
from girih.passes.fuse.plan import (
    FuseOptions,
    Level,
    Placement,
    Reason,
    chain_to_domain,
    is_in_place,
    reads_inside,
)
from girih.passes.fuse.program import Kind, Need, Node, Program, Read
from girih.passes.fuse.shapes import (
    Refinement,
    align_right,
    common_refinement,
    exact_quotient,
    ratio,
    reduced_shape,
)

Edge = tuple[Node, Node, Read]

# A value that stands in a group is computed again elsewhere in it only where that takes
# this many times fewer elements (the picked class of a cross entropy).
_FEWER_ELEMENTS = 4

# Work that is done once for this many elements of its reader is not worth a kernel.
_NEGLIGIBLE_WORK = 8


def own_placement(program: Program, node: Node) -> Placement:
    """Returns the placement of a group of one op.

    The domain has the dims of the op's shape, split where operands are read through a
    reshape that merged dims of a permuted or broadcast tensor.
    """
    domain, reduced = node.shape, node.dims
    for read in node.reads:
        chain = without_trailing_broadcast(read.chain)
        merges = len(chain) > 1 and isinstance(chain[-1], Reshape)
        if not merges or read.need is not Need.READ:
            continue
        before = result_shape(program.values[read.value].shape, chain[:-1])
        refined = common_refinement(domain, before)
        if refined is not None and not _splits_position(node, refined, reduced):
            domain, reduced = refined.shape, refined.dims(reduced)
    level = Level.REDUCED if node.kind is Kind.REDUCTION else Level.FULL
    return Placement(domain, frozenset(reduced), {node.position: level})


def _splits_position(node: Node, refined: Refinement, reduced: Iterable[int]) -> bool:
    """Returns whether argmax or a scan would lose the one dim that it goes along."""
    return _counts_positions(node) and len(refined.dims(reduced)) > 1


def _counts_positions(node: Node) -> bool:
    return node.kind is Kind.SCAN or node.name in ("argmax", "argmin")


def fit(
    program: Program, producer: Placement, consumer: Placement, options: FuseOptions
) -> Placement | tuple[Reason, Reason]:
    """Returns a placement for both groups in one.

    Where there is none, the result says why they do not fit anchored, and why not
    inline.
    """
    edges = edges_between(program, producer, consumer)
    if any(_is_scattered(made, read) for made, _, read in edges):
        return Reason.SCATTERED, Reason.SCATTERED
    anchored = _anchored(program, producer, consumer, edges, options)
    if isinstance(anchored, Placement):
        return anchored
    inline = _inline_conflict(program, producer, consumer, edges, options)
    return _inlined(producer, consumer) if inline is None else (anchored, inline)


def _is_scattered(producer: Node, read: Read) -> bool:
    """Returns whether a value is changed, or made, at other points than it is read."""
    return producer.kind is Kind.SCATTER or read.need is Need.WHOLE


def _anchored(
    program: Program,
    producer: Placement,
    consumer: Placement,
    edges: list[Edge],
    options: FuseOptions,
) -> Placement | Reason:
    if any(read.need is Need.INDEX for _, _, read in edges):
        return Reason.INDEX
    reason = _other_domains(producer, consumer)
    for merged in _anchored_candidates(producer, consumer):
        conflict = _conflict(program, merged, edges, options)
        if conflict is Reason.COORDINATES and moves_cheaply(
            program, merged, consumer, options
        ):
            conflict = _conflict(program, merged, (), options)
        if conflict is None:
            return merged
        reason = conflict
    return reason


def _other_domains(first: Placement, second: Placement) -> Reason:
    """Returns why two groups have no common iteration space, if they have none."""
    return Reason.REDUCTIONS if first.reduced and second.reduced else Reason.DOMAINS


def fit_siblings(
    program: Program, first: Placement, second: Placement, options: FuseOptions
) -> Placement | None:
    """Returns a placement for two groups of the same domain without reads between."""
    for merged in _anchored_candidates(first, second):
        same_size = product(first.domain) == product(second.domain)
        if same_size and _conflict(program, merged, (), options) is None:
            return merged
    return None


def edges_between(
    program: Program, producer: Placement, consumer: Placement
) -> list[Edge]:
    """Returns the reads of ``producer``'s values in ``consumer``."""
    sources = {*producer.levels, *producer.inline}
    return [
        (program.producer(read.value), program.nodes[position], read)
        for position in consumer.members
        for read in program.nodes[position].reads
        if program.values[read.value].node in sources
    ]


def _anchored_candidates(first: Placement, second: Placement) -> Iterable[Placement]:
    if first.reduced and second.reduced:
        yield from _same_reduction(first, second)
        return
    host, guest = (second, first) if second.reduced else (first, second)
    if product(host.domain) == product(guest.domain):
        yield _hosted(host, guest, Level.FULL)
    elif host.reduced and (
        product(reduced_shape(host.domain, host.reduced)) == product(guest.domain)
    ):
        yield _hosted(host, guest, Level.REDUCED)


def _same_reduction(first: Placement, second: Placement) -> Iterable[Placement]:
    """Both reduce: the same dims of one domain, up to splits of dims."""
    refined = common_refinement(first.domain, second.domain)
    if first.domain == second.domain:
        domain, reduced, other = first.domain, first.reduced, second.reduced
    elif refined is not None:
        again = common_refinement(second.domain, refined.shape)
        if again is None or again.shape != refined.shape:
            return
        domain, reduced = refined.shape, frozenset(refined.dims(first.reduced))
        other = frozenset(again.dims(second.reduced))
    else:
        return
    if reduced == other:
        inline = first.inline | second.inline
        yield Placement(domain, reduced, {**first.levels, **second.levels}, inline)


def _hosted(host: Placement, guest: Placement, level: Level) -> Placement:
    """Puts ``guest``, which has no reductions, into ``host`` at ``level``."""
    domain, reduced = host.domain, host.reduced
    if level is Level.FULL and domain != guest.domain:
        refined = common_refinement(domain, guest.domain)
        if refined is not None:
            domain, reduced = refined.shape, frozenset(refined.dims(reduced))
    levels = {**host.levels, **dict.fromkeys(guest.levels, level)}
    return Placement(domain, reduced, levels, host.inline | guest.inline)


def _conflict(
    program: Program,
    merged: Placement,
    edges: Iterable[Edge],
    options: FuseOptions,
) -> Reason | None:
    """Returns what speaks against a placement, None if nothing does."""
    for producer, consumer, read in edges:
        if consumer.position in merged.inline:
            return Reason.COORDINATES
        chain = chain_to_domain(program, merged, consumer, read)
        source = program.values[read.value].shape
        if not is_in_place(program, merged, producer, source, chain) and not (
            _picks_few(program, merged, producer, read)
            and _is_expressible(program, merged, producer, chain)
        ):
            return Reason.COORDINATES
    if _scans_and_reduces(program, merged):
        return Reason.SCANS
    if merged.reduced and _scatters(program, merged):
        return Reason.SCATTERED
    if not _has_one_dim_for_positions(program, merged):
        return Reason.POSITIONS
    return None if _has_enough_rows(program, merged, options) else Reason.ROWS


def _scans_and_reduces(program: Program, merged: Placement) -> bool:
    """Returns whether a kernel would have scans and reductions."""
    kinds = {program.nodes[position].kind for position in merged.levels}
    return {Kind.SCAN, Kind.REDUCTION} <= kinds


def _scatters(program: Program, merged: Placement) -> bool:
    """Returns whether a kernel would add to elements of a tensor in memory."""
    return any(
        program.nodes[position].kind is Kind.SCATTER for position in merged.levels
    )


def _has_one_dim_for_positions(program: Program, merged: Placement) -> bool:
    """Returns whether argmax, argmin and scans still have one dim to go along."""
    return len(merged.reduced) <= 1 or not any(
        _counts_positions(program.nodes[position]) for position in merged.levels
    )


def _picks_few(program: Program, merged: Placement, producer: Node, read: Read) -> bool:
    """Returns whether a read touches few enough elements to compute them again."""
    if not read.chain or producer.kind is not Kind.POINTWISE:
        return False
    kept = exact_quotient(product(producer.shape), product(read.chain[-1].shape))
    return kept is not None and (not isinstance(kept, int) or kept >= _FEWER_ELEMENTS)


def _is_expressible(
    program: Program, merged: Placement, node: Node, chain: Chain
) -> bool:
    """Returns whether ``node`` can be computed again at the end of ``chain``."""
    if node.kind is not Kind.POINTWISE:
        return False
    members = {*merged.levels, *merged.inline}
    for read in node.reads:
        producer = program.producer(read.value)
        if producer is None or producer.position not in members:
            continue
        source = program.values[read.value].shape
        longer = extend(source, read.chain, chain)
        if not is_in_place(
            program, merged, producer, source, longer
        ) and not _is_expressible(program, merged, producer, longer):
            return False
    return True


def _has_enough_rows(program: Program, merged: Placement, options: FuseOptions) -> bool:
    """Returns whether whole rows may be worked on after a reduction.

    Where few rows are reduced, a kernel splits each over threads and would have to wait
    for all of them; two kernels do that as well.
    """
    if not merged.reduced or _are_rows_enough(merged, options):
        return True
    depends: set[int] = set()
    for producer, consumer, _ in reads_inside(program, merged):
        after = producer.kind is Kind.REDUCTION or producer.position in depends
        if not after:
            continue
        depends.add(consumer.position)
        if (
            consumer.kind is Kind.REDUCTION
            or merged.levels.get(consumer.position) is Level.FULL
        ):
            return False
    return True


def _are_rows_enough(merged: Placement, options: FuseOptions) -> bool:
    elements = product(merged.domain)
    if isinstance(elements, int) and elements <= options.small_elements:
        return True
    columns = product(merged.domain[dim] for dim in merged.reduced)
    if isinstance(columns, int) and columns <= options.small_row:
        return True
    rows = product(reduced_shape(merged.domain, merged.reduced))
    return not isinstance(rows, int) or rows >= options.parallel_rows


def _inline_conflict(
    program: Program,
    producer: Placement,
    consumer: Placement,
    edges: list[Edge],
    options: FuseOptions,
) -> Reason | None:
    """Returns why the consumer can't compute the producer, None if it can."""
    if not edges:
        return Reason.INDIRECT
    if producer.reduced:
        return Reason.REDUCES
    if not _is_closed(program, producer, consumer):
        return Reason.NEEDED
    members = [program.nodes[position] for position in producer.members]
    expensive = any(node.is_expensive for node in members)
    limit = options.max_expensive_recompute if expensive else options.max_recompute
    factor = _recompute_factor(program, edges, expensive)
    if factor > 1:  # a concat computes all its parts at each point
        factor *= max(_parts(node) for node in members)
    if factor > limit:
        return Reason.EXPENSIVE if expensive else Reason.RECOMPUTED
    merged = _inlined(producer, consumer)
    return Reason.OPS if _emitted_ops(program, merged) > options.max_ops else None


def _parts(node: Node) -> int:
    return len(node.reads) if node.name == "concat" else 1


def _is_closed(program: Program, producer: Placement, consumer: Placement) -> bool:
    """Returns whether only the two groups use the values of ``producer``."""
    users = {*producer.levels, *producer.inline, *consumer.levels, *consumer.inline}
    return all(
        user in users and read.need is not Need.WHOLE
        for position in producer.members
        for value in program.nodes[position].results
        for user, read in program.values[value].uses
    )


def _recompute_factor(program: Program, edges: list[Edge], expensive: bool) -> float:
    """Returns how many times each element of the producer would be computed."""
    return sum(
        _index_ratio(consumer, read)
        if read.need is Need.INDEX
        else _ratio(program, consumer, read, expensive)
        for _, consumer, read in edges
    )


def _index_ratio(consumer: Node, read: Read) -> float:
    """Returns how many times take or gather computes each element of its index."""
    for step in consumer.reads[0].chain:
        if isinstance(step, Take) and step.index == read:
            after = step.dim + step.index_rank
            inner = ratio(product(step.shape[after:]), 1)
            outer = ratio(product(step.shape[: step.dim]), 1)
            return outer if inner >= _NEGLIGIBLE_WORK else outer * inner
    return 1.0


def _ratio(
    program: Program, consumer: Node, read: Read, expensive: bool = False
) -> float:
    """Returns how many times one read computes each element that it reads.

    Padding is none of them where others are expensive. What is constant along the
    innermost dims is computed once for all of them; if that leaves little work next to
    the consumer's own, it counts as nothing.
    """
    source = program.values[read.value].shape
    narrow = result_shape(source, without_trailing_broadcast(read.chain))
    aligned = align_right(narrow, len(consumer.shape))
    innermost = len(consumer.shape)
    while innermost and aligned[innermost - 1] == 1:
        innermost -= 1
    read_elements = product(consumer.shape[:innermost])
    if ratio(product(consumer.shape), read_elements) >= _NEGLIGIBLE_WORK:
        return 0.0
    shape = _computed(program, read.value) if expensive else source
    return ratio(read_elements, product(shape))


def _emitted_ops(program: Program, merged: Placement) -> int:
    """Returns how many ops the region would have if no two reads shared a chain."""
    copies = dict.fromkeys(merged.levels, 1)
    members = {*merged.levels, *merged.inline}
    for position in reversed(merged.members):
        count = copies.setdefault(position, 1)
        for read in program.nodes[position].reads:
            producer = program.values[read.value].node
            if producer in members and producer in merged.inline:
                copies[producer] = copies.get(producer, 0) + count
    return sum(copies.values())


def _inlined(producer: Placement, consumer: Placement) -> Placement:
    inline = frozenset((*producer.levels, *producer.inline, *consumer.inline))
    return Placement(consumer.domain, consumer.reduced, consumer.levels, inline)


def _computed(program: Program, value: int) -> tuple[Size, ...]:
    """The shape of what is computed for a value: padding needs no arithmetic."""
    node = program.producer(value)
    if node is None or node.name != "pad" or not node.reads[0].chain:
        return program.values[value].shape
    read = node.reads[0]
    return result_shape(program.values[read.value].shape, read.chain[:-1])
