"""The levels of IR: which ops stand where, and which pass leads from one to the next.

::

    graph ──► fused ──► host ──► tile ──► cpu ──► llvm
                                   └────► tt

A pass takes IR of one level and leaves IR of one; so does a named pipeline. What is of
another level would be passed over without a word, so it is an error:
``registry.run_pipeline`` checks both ends of what it runs, and, where it verifies, each
pass. This is a check of structure: which ops there are, that blocks end as they have
to, that symbols are declared. What an op's own rules say `girih.dialects.verifier`
checks, which takes ten times as long.

Passes from elsewhere keep the level, unless they are registered with another
`Contract`. Upstream's passes may do anything.
"""

from __future__ import annotations

from collections.abc import (
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from functools import partial
from typing import NamedTuple

from girih.dialects import host
from girih.dialects.bindings import ir
from girih.dialects.definition import OPS, role_of
from girih.dialects.traits import Role
from girih.dialects.verifier import Problem

OWN = frozenset({"graph", "host", "tile", "tt"})
_SCALARS = frozenset({"arith", "math", "scf", "vector"})


_Rule = Callable[[ir.Operation], Iterable[Problem]] | None


class Body(NamedTuple):
    """What may stand inside of an op of the module.

    Attributes:
        dialects: Those whose ops may.
        ops: Further ops.
        without: Ops that may not, by name or by role.
        ends_in: The op that each block of the outer op itself ends in, if girih knows.
        takes_users: Whether ops of dialects from elsewhere may.
    """

    dialects: frozenset[str]
    ops: frozenset[str] = frozenset()
    without: frozenset[str | Role] = frozenset()
    ends_in: str | None = None
    takes_users: bool = False

    def allows(self, name: str) -> bool:
        """Whether ops of this name may stand in it."""
        if name in self.without or role_of(name) in self.without:
            return False
        dialect = name.partition(".")[0]
        is_users = name in OPS and dialect not in OWN
        is_known = dialect in self.dialects or name in self.ops
        return is_known or (self.takes_users and is_users)


class Level(NamedTuple):
    """A level of IR.

    Attributes:
        name: Also that of the file that a compilation dumps.
        what: What it consists of, for messages.
        bodies: By the name of an op of the module what may stand in it.
        references: By the name of an op the attribute that names an op of the module,
            and what that is called.
    """

    name: str
    what: str
    bodies: Mapping[str, Body]
    references: Mapping[str, tuple[str, str]] = {}


_GRAPH = Body(
    dialects=frozenset({"graph", "arith"}),
    ops=frozenset({"func.return"}),
    ends_in="func.return",
    takes_users=True,
)
_FUSED = _GRAPH._replace(without=frozenset({Role.COMPOSITE, Role.DERIVATIVE}))
_HOST = Body(frozenset({"host"}), ends_in="host.return")
_UNSCHEDULED = Body(
    dialects=frozenset({"graph"}),
    ops=frozenset({"tile.read", "tile.write"}),
    without=frozenset({Role.COMPOSITE, Role.DERIVATIVE, Role.LIBRARY}),
    takes_users=True,
)
_SCHEDULED = Body(
    dialects=_SCALARS | {"tile", "ub"},
    ops=frozenset({"llvm.call_intrinsic"}),
    without=frozenset({"tile.read", "tile.write"}),
    takes_users=True,
)
_DECLARED = Body(frozenset())
_LOWERED = Body(_SCALARS | {"cf", "llvm", "omp", "ub"})
_LLVM = Body(frozenset({"llvm", "omp"}))
_TABLE = Body(frozenset({"llvm"}))
_OF_SCALARS = Body(
    dialects=_SCALARS | {"ub"},
    ops=frozenset({"func.return", "llvm.call", "llvm.call_intrinsic"}),
    ends_in="func.return",
)
_TT = Body(_SCALARS | {"tt"})

_LAUNCHES = {"host.launch": ("kernel", "tile.kernel")}
_CALLS = {"tile.call": ("callee", "llvm.func")}
_RUNS = {"host.native": ("function", "llvm.func")}

LEVELS: dict[str, Level] = {
    level.name: level
    for level in (
        Level("graph", "functions of graph ops", {"func.func": _GRAPH}),
        Level(
            "fused",
            "functions of fusions, library ops and primitives",
            {"func.func": _FUSED},
        ),
        Level(
            "host",
            "a launch program and kernels without schedules",
            {"func.func": _HOST, "tile.kernel": _UNSCHEDULED},
            _LAUNCHES | _RUNS,
        ),
        Level(
            "tile",
            "a launch program and kernels with schedules",
            {"func.func": _HOST, "tile.kernel": _SCHEDULED, "llvm.func": _DECLARED},
            _LAUNCHES | _RUNS | _CALLS,
        ),
        Level(
            "scalars",
            "functions of scalars and vectors",
            {"func.func": _OF_SCALARS, "llvm.func": _DECLARED},
        ),
        Level(
            "cpu",
            "a launch program and functions over pointers",
            {"func.func": _HOST, "llvm.func": _LOWERED, "llvm.mlir.global": _TABLE},
            _RUNS,
        ),
        Level(
            "llvm",
            "a launch program and functions of LLVM's dialect",
            {"func.func": _HOST, "llvm.func": _LLVM, "llvm.mlir.global": _TABLE},
            _RUNS,
        ),
        Level(
            "tt",
            "a launch program and functions of Triton IR",
            {"func.func": _HOST, "tt.func": _TT},
        ),
    )
}


class Contract(NamedTuple):
    """What a pass takes and leaves: IR of one of these levels, by name."""

    takes: tuple[str, ...]
    leaves: tuple[str, ...]


def _contract(takes: str, leaves: str) -> Contract:
    return Contract((takes,), (leaves,))


_GRAPHS = _contract("graph", "graph")
_PROGRAMS = _contract("host", "host")

CONTRACTS: dict[str, Contract] = {
    "autograd": _GRAPHS,
    "backward": _GRAPHS,
    "batch-launches": _PROGRAMS,
    "cancel-permutes": _GRAPHS,
    "canonicalize-graph": _GRAPHS,
    "choose-convolution-layouts": _GRAPHS,
    "convert-graph-to-host": _contract("fused", "host"),
    "convert-tile-to-cpu": _contract("tile", "cpu"),
    "convert-tile-to-tt": _contract("tile", "tt"),
    "constants": _GRAPHS,
    "cpu": _contract("host", "llvm"),
    "decompose": _contract("graph", "fused"),
    "default": _contract("graph", "llvm"),
    "derivatives": _GRAPHS,
    "device": _contract("fused", "host"),
    "drop-zero-cotangents": _GRAPHS,
    "eliminate-common-subexpressions": _GRAPHS,
    "expand-math": Contract(("tile", "scalars"), ("tile", "scalars")),
    "fold-batch-norms": _GRAPHS,
    "merge-convolutions": _GRAPHS,
    "write-out-batch-norms": _GRAPHS,
    "fuse": _GRAPHS,
    "fuse-closing-reductions": _GRAPHS,
    "fuse-contractions": _GRAPHS,
    "fusions": _contract("fused", "fused"),
    "gpu": _contract("host", "tt"),
    "gradients": _GRAPHS,
    "graph": _contract("graph", "fused"),
    "group-launches": _PROGRAMS,
    "hint-eviction": _contract("tt", "tt"),
    "hoist-loads": _contract("tt", "tt"),
    "hold-bfloat16-as-bits": _contract("cpu", "cpu"),
    "host": _contract("fused", "host"),
    "launch-products": _PROGRAMS,
    "llvm": _contract("cpu", "llvm"),
    "mark-aligned-arguments": _PROGRAMS,
    "hoist-vectors": _GRAPHS,
    "narrow-intermediates": _GRAPHS,
    "pack-convolutions": _GRAPHS,
    "pack-products": _GRAPHS,
    "partition": _GRAPHS,
    "plan-memory": _PROGRAMS,
    "print-fusion-plan": _GRAPHS,
    "print-layouts": _GRAPHS,
    "print-partition": _GRAPHS,
    "print-schedules": _PROGRAMS,
    "recognize-attention": _GRAPHS,
    "select-products": _GRAPHS,
    "round-before-jumps": _GRAPHS,
    "separate-reductions": _GRAPHS,
    "share-flat-kernels": _PROGRAMS,
    "sink-permutes": _GRAPHS,
    "split-constants": _GRAPHS,
    "tile": _contract("host", "tile"),
    "write-out-attention": _GRAPHS,
    "write-out-complex": _GRAPHS,
    "write-out-convolutions": _GRAPHS,
    "write-out-reductions": _GRAPHS,
    "write-out-rolls": _GRAPHS,
    "write-out-scatters": _GRAPHS,
    "write-out-vector-products": _GRAPHS,
}
"""What each pass and each named pipeline of girih takes and leaves.

A pass that is not here keeps the level, whatever it is.
"""


def reached(contract: Contract | None, before: Sequence[str]) -> Sequence[str]:
    """The levels of one of which a pass leaves IR, given those before it.

    After ``decompose`` no pass may make a composite op again, though elsewhere a pass
    over functions of ``graph`` ops may take and leave them.
    """
    if contract is None or contract.takes == contract.leaves:
        return before
    return contract.leaves


def problems_of(module: ir.Operation, names: Sequence[str]) -> list[Problem]:
    """What in a module is of none of these levels, in the order of its ops.

    What is said is about the first one.
    """
    found = (list(_Check(module, LEVELS[name]).problems()) for name in names)
    first = next(found, [])
    return first if first and all(found) else []


def held_by(module: ir.Operation) -> Sequence[str]:
    """The levels that a module is of; an empty one is of all."""
    return [level for level in LEVELS if not problems_of(module, [level])]


class _Check:
    """A check of a module against a level.

    It walks the whole module, so what is asked of each op is a look into tables.
    """

    def __init__(self, module: ir.Operation, level: Level):
        self._module = module
        self._level = level
        self._declared: dict[str, set[str]] = {}

    def problems(self) -> Iterator[Problem]:
        tops = [op.operation for op in self._module.regions[0].blocks[0].operations]
        for op in tops:
            if "sym_name" in op.attributes:
                name = ir.StringAttr(op.attributes["sym_name"]).value
                self._declared.setdefault(op.name, set()).add(name)
        for op in tops:
            if op.name in self._level.bodies:
                yield from self._problems_in(op, self._level.bodies[op.name])
            else:
                yield from self._misplaced(op, "the module")

    def _problems_in(self, top: ir.Operation, body: Body) -> list[Problem]:
        found: list[Problem] = []
        end = body.ends_in or _end_of(top.name)
        rules: dict[str, _Rule] = {top.name: partial(_open_blocks, end=end)}
        out_of_place: set[str] = set()

        advance, skip = ir.WalkResult.ADVANCE, ir.WalkResult.SKIP

        def check(op: ir.Operation) -> ir.WalkResult:
            name = op.name
            if name not in rules:
                rules[name] = self._rule_for(name, body, top.name)
                # What stands in an op that is out of place is not said again.
                if not body.allows(name):
                    out_of_place.add(name)
            if (rule := rules[name]) is not None:
                found.extend(rule(op))
            return skip if name in out_of_place else advance

        top.walk(check, ir.WalkOrder.PRE_ORDER)
        return found

    def _rule_for(self, name: str, body: Body, place: str) -> _Rule:
        """What is to be checked of ops of this name: mostly nothing."""
        if not body.allows(name):
            return partial(self._misplaced, place=f"'{place}'")
        if name in self._level.references:
            attribute, kind = self._level.references[name]
            return partial(self._undeclared, attribute=attribute, kind=kind)
        end = _end_of(name)
        return None if end is None else partial(_open_blocks, end=end)

    def _misplaced(self, op: ir.Operation, place: str) -> Iterator[Problem]:
        level = self._level
        rule = f"expected IR of level {level.name!r} ({level.what})"
        message = f"'{op.name}' {rule}, which has no such op in {place}"
        yield Problem(op.location, message)

    def _undeclared(
        self, op: ir.Operation, attribute: str, kind: str
    ) -> Iterator[Problem]:
        if attribute not in op.attributes:
            return
        symbol = op.attributes[attribute].value
        declared = self._declared.get(kind, ())
        if symbol not in declared and symbol not in _library_of(kind):
            rule = f"expected {attribute} to name a {kind} of the module"
            yield Problem(op.location, f"'{op.name}' {rule}, got @{symbol}")


def _library_of(kind: str) -> Collection[str]:
    """What is launched as a kernel is, and belongs to a library."""
    return (host.MATMUL, host.MATMUL_ADD) if kind == "tile.kernel" else ()


def _end_of(name: str) -> str | None:
    """The op that the blocks of an op of girih have to end in."""
    regions = OPS[name].REGIONS if name in OPS else ()
    return regions[0].ends_in if regions else None


def _open_blocks(op: ir.Operation, end: str | None) -> Iterator[Problem]:
    """The blocks that do not end as they have to."""
    if end is None:
        return
    for region in op.regions:
        for block in region:
            last = block.operations[-1].operation if len(block.operations) else None
            if last is None or last.name != end:
                got = "nothing" if last is None else f"'{last.name}'"
                rule = f"expected its block to end in {end}"
                place = op.location if last is None else last.location
                yield Problem(place, f"'{op.name}' {rule}, got {got}")
