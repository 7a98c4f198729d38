"""hint-eviction: loads and stores say what the cache should keep.

Requires: functions of Triton IR, as `convert-tile-to-tt` makes them.
Establishes: ``evict`` on loads and stores of functions without matrix products:

    last (3)    what another program of the launch reads, too: the address depends on no
                number of a program, as with the weight of a norm
    last (3)    what a loop reads and ops after this loop read again
    first (2)   the last such read: nobody needs the element after it
    first (2)   stores of functions with such reads: results would take the place of
                rows that other programs read again

Rows that do not fit into registers are read twice, from memory by the first loop and
from the cache by the second one, if it still has them: rows in flight on all processors
take about as much as there is. RMS norm of rows of 32,768 (bfloat16) took 111 us
without hints and takes 102 with them, where a copy takes 91 (H100, 2026-11-27). With
hints on stores (H200, 2026-11-28) softmax of 512 x 65536 in f32 took 81.7 us, without
85.6, of 2048 x 65536 319 (338), of 512 x 65536 in f16 51.6 (55.0); layer norm of 4096 x
9216 in f16 42.8 (44.0). None of 25 shapes took over 1.5 %
longer. The kernel that reads the results next takes as long as without: an element that
is to go first stays while there is room.

Other stores and single reads have no hint. The next kernel may read the same memory.
"""

from __future__ import annotations

from girih.dialects.bindings import ir
from girih.dialects.tt.base import INT32, pointee
from girih.passes.registry import register_pass

_LOAD, _STORE, _LOOP = "tt.load", "tt.store", "scf.for"
_FIRST, _LAST = 2, 3  # Triton's numbers; 1 is none of both


@register_pass("hint-eviction")
def run(op: ir.Operation, options: None) -> None:
    """Sets ``evict`` of the loads and stores of every function of `tt`."""
    for function in op.regions[0].blocks[0].operations:
        if function.operation.name == "tt.func":
            _hint(function.operation)


def _hint(function: ir.Operation) -> None:
    """Sets ``evict`` of the loads and stores of one function."""
    loads: list[ir.Operation] = []
    stores: list[ir.Operation] = []
    names: set[str] = set()

    def visit(operation: ir.Operation) -> ir.WalkResult:
        names.add(operation.name)
        if operation.name == _LOAD:
            loads.append(operation)
        elif operation.name == _STORE:
            stores.append(operation)
        return ir.WalkResult.ADVANCE

    function.walk(visit, ir.WalkOrder.PRE_ORDER)
    if "tt.dot" in names:
        return
    reads: dict[int, list[ir.Operation]] = {}
    for load in loads:
        buffer, is_shared = _address(load)
        if is_shared:
            _set(load, _LAST)
        elif buffer is not None:
            reads.setdefault(buffer, []).append(load)
    reads_again = False
    for of_buffer in reads.values():
        *earlier, last = of_buffer
        again = [load for load in earlier if _ends_before(load, last)]
        for load in again:
            _set(load, _LAST)
        if again:
            _set(last, _FIRST)
            reads_again = True
    if reads_again:
        for store in stores:
            _set(store, _FIRST)


def _set(access: ir.Operation, evict: int) -> None:
    with access.context:
        access.attributes["evict"] = INT32.encode(evict)


def _address(load: ir.Operation) -> tuple[int | None, bool]:
    """The argument whose memory a load reads, and whether all programs read it."""
    buffer, is_shared = None, True
    pending, seen = [load.operands[0]], set()
    while pending:
        value = pending.pop()
        if value in seen:
            continue
        seen.add(value)
        if isinstance(value, ir.BlockArgument):
            owner = value.owner.owner.operation
            if owner.name == "tt.func":
                buffer = value.arg_number if pointee(value.type) else buffer
            else:
                pending.extend(owner.operands)
            continue
        is_shared = is_shared and value.owner.name != "tt.get_program_id"
        pending.extend(value.owner.operands)
    return buffer, is_shared


def _ends_before(load: ir.Operation, later: ir.Operation) -> bool:
    """Whether a load is in a loop in which a later one is not."""
    around = set(_loops(later))
    return any(loop not in around for loop in _loops(load))


def _loops(operation: ir.Operation) -> list[ir.Operation]:
    """The loops around an op."""
    found = []
    parent = operation.parent
    while parent is not None and parent.name != "tt.func":
        if parent.name == _LOOP:
            found.append(parent.operation)
        parent = parent.parent
    return found
