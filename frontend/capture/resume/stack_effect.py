"""What an instruction does to a frame: the slots, the locals, where it goes on.

``dis.stack_effect`` tells only the difference of heights; here stands how many slots
an instruction takes and what it leaves.

Source: https://docs.python.org/3.12/library/dis.html#python-bytecode-instructions
"""

from __future__ import annotations

import types
from collections.abc import Callable
from dataclasses import dataclass, replace

from girih.frontend.capture.resume.instructions import Instruction, by_version
from girih.frontend.capture.resume.layout import Layout, Slot

Count = int | Callable[[int], int]

# How many values an instruction pops and pushes, from its argument.
_EFFECTS: dict[str, tuple[Count, Count]] = {
    "BEFORE_WITH": (1, 2),
    "BINARY_OP": (2, 1),
    "BINARY_SLICE": (3, 1),
    "BINARY_SUBSCR": (2, 1),
    "BUILD_CONST_KEY_MAP": (lambda n: n + 1, 1),
    "BUILD_LIST": (lambda n: n, 1),
    "BUILD_MAP": (lambda n: 2 * n, 1),
    "BUILD_SET": (lambda n: n, 1),
    "BUILD_SLICE": (lambda n: n, 1),
    "BUILD_STRING": (lambda n: n, 1),
    "BUILD_TUPLE": (lambda n: n, 1),
    "CALL": (lambda n: n + 2, 1),
    "CALL_FUNCTION_EX": (lambda n: 3 + (n & 1), 1),
    "CALL_INTRINSIC_1": (1, 1),
    "CALL_INTRINSIC_2": (2, 1),
    "CALL_KW": (lambda n: n + 3, 1),
    "CHECK_EG_MATCH": (2, 2),
    "CHECK_EXC_MATCH": (1, 1),
    "COMPARE_OP": (2, 1),
    "CONTAINS_OP": (2, 1),
    "CONVERT_VALUE": (1, 1),
    "DELETE_ATTR": (1, 0),
    "DELETE_DEREF": (0, 0),
    "DELETE_FAST": (0, 0),
    "DELETE_GLOBAL": (0, 0),
    "DELETE_SUBSCR": (2, 0),
    "DICT_MERGE": (1, 0),
    "DICT_UPDATE": (1, 0),
    "FORMAT_SIMPLE": (1, 1),
    "FORMAT_VALUE": (lambda flags: 2 if flags & 4 else 1, 1),
    "FORMAT_WITH_SPEC": (2, 1),
    "GET_ITER": (1, 1),
    "GET_LEN": (0, 1),
    "GET_YIELD_FROM_ITER": (1, 1),
    "IMPORT_FROM": (0, 1),
    "IMPORT_NAME": (2, 1),
    "IS_OP": (2, 1),
    "LIST_APPEND": (1, 0),
    "LIST_EXTEND": (1, 0),
    "LIST_TO_TUPLE": (1, 1),
    "LOAD_ATTR": (1, 1),
    "LOAD_ASSERTION_ERROR": (0, 1),
    "LOAD_BUILD_CLASS": (0, 1),
    "LOAD_CLASSDEREF": (0, 1),
    "LOAD_CLOSURE": (0, 1),
    "LOAD_CONST": (0, 1),
    "LOAD_DEREF": (0, 1),
    "LOAD_FAST": (0, 1),
    "LOAD_FAST_CHECK": (0, 1),
    "LOAD_FAST_LOAD_FAST": (0, 2),
    "LOAD_FROM_DICT_OR_DEREF": (1, 1),
    "LOAD_FROM_DICT_OR_GLOBALS": (1, 1),
    "LOAD_GLOBAL": (0, 1),
    "LOAD_METHOD": (1, 1),
    "LOAD_SUPER_ATTR": (3, 1),
    "MAKE_CELL": (0, 0),
    "MAKE_FUNCTION": (lambda flags: 1 + flags.bit_count(), 1),
    "MAP_ADD": (2, 0),
    "MATCH_CLASS": (3, 1),
    "MATCH_KEYS": (0, 1),
    "MATCH_MAPPING": (0, 1),
    "MATCH_SEQUENCE": (0, 1),
    "NOP": (0, 0),
    "POP_TOP": (1, 0),
    "PREP_RERAISE_STAR": (2, 1),
    "SET_ADD": (1, 0),
    "SET_FUNCTION_ATTRIBUTE": (2, 1),
    "SET_UPDATE": (1, 0),
    "STORE_ATTR": (2, 0),
    "STORE_DEREF": (1, 0),
    "STORE_GLOBAL": (1, 0),
    "STORE_SLICE": (4, 0),
    "STORE_SUBSCR": (3, 0),
    "TO_BOOL": (1, 1),
    "UNARY_INVERT": (1, 1),
    "UNARY_NEGATIVE": (1, 1),
    "UNARY_NOT": (1, 1),
    "UNARY_POSITIVE": (1, 1),
    "UNPACK_EX": (1, lambda n: (n & 255) + 1 + (n >> 8)),
    "UNPACK_SEQUENCE": (1, lambda n: n),
    "WITH_EXCEPT_START": (0, 1),
}

# How far down the stack an instruction looks, where that is further than it pops.
_REACH: dict[str, Count] = {
    "CHECK_EXC_MATCH": 2,
    "COPY": lambda n: n,
    "DICT_MERGE": lambda n: n + 4,
    "DICT_UPDATE": lambda n: n + 1,
    "GET_LEN": 1,
    "IMPORT_FROM": 1,
    "LIST_APPEND": lambda n: n + 1,
    "LIST_EXTEND": lambda n: n + 1,
    "MAP_ADD": lambda n: n + 2,
    "MATCH_KEYS": 2,
    "MATCH_MAPPING": 1,
    "MATCH_SEQUENCE": 1,
    "POP_EXCEPT": 1,
    "PUSH_EXC_INFO": 1,
    "RERAISE": lambda n: n + 1,
    "RAISE_VARARGS": lambda n: n,
    "SET_ADD": lambda n: n + 1,
    "SET_UPDATE": lambda n: n + 1,
    "STORE_FAST": 1,
    "STORE_FAST_LOAD_FAST": 1,
    "STORE_FAST_STORE_FAST": 2,
    "SWAP": lambda n: n,
    "WITH_EXCEPT_START": 4,
}

# Why an instruction can't be run in a frame that is not its own.
CANNOT: dict[str, str] = {
    **dict.fromkeys(
        (
            "ASYNC_GEN_WRAP",
            "BEFORE_ASYNC_WITH",
            "END_ASYNC_FOR",
            "GET_AITER",
            "GET_ANEXT",
            "GET_AWAITABLE",
        ),
        "it belongs to asynchronous code",
    ),
    **dict.fromkeys(
        ("CLEANUP_THROW", "END_SEND", "RETURN_GENERATOR", "SEND", "YIELD_VALUE"),
        "it belongs to a generator",
    ),
    **dict.fromkeys(("RETURN_CONST", "RETURN_VALUE"), "it leaves the frame"),
    **dict.fromkeys(("COPY_FREE_VARS", "RESUME"), "it sets up the frame"),
    **dict.fromkeys(
        (
            "DELETE_NAME",
            "IMPORT_STAR",
            "LOAD_LOCALS",
            "LOAD_NAME",
            "PRINT_EXPR",
            "SETUP_ANNOTATIONS",
            "STORE_NAME",
        ),
        "it belongs to the body of a class or module",
    ),
    "END_FOR": "it is a part of FOR_ITER",
}

RAISING = frozenset({"RAISE_VARARGS", "RERAISE"})
"""Instructions that never arrive anywhere."""

ALWAYS_JUMPS = frozenset(
    {"JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT", "JUMP_FORWARD"}
)

# What stands at the target of FOR_ITER and is skipped when the iterator is exhausted.
LOOP_END: tuple[str, ...] = by_version(
    {(3, 11): (), (3, 12): ("END_FOR",), (3, 13): ("END_FOR", "POP_TOP")}
)
NULL_IS_FIRST: bool = by_version({(3, 11): True, (3, 13): False})
"""Whether the NULL of a call lies below the callable."""
PUSHES_NULL: frozenset[str] = by_version(
    {
        (3, 11): frozenset({"LOAD_GLOBAL"}),
        (3, 12): frozenset({"LOAD_GLOBAL", "LOAD_ATTR", "LOAD_SUPER_ATTR"}),
    }
)
"""Instructions whose lowest bit asks for what a call needs: a NULL, or self."""


class CannotStep(Exception):
    """An instruction can't be run outside of its frame; the message says why."""


@dataclass(frozen=True)
class Outcome:
    """One way in which an instruction can end.

    Attributes:
        jumps: Whether it goes on at its target, not after it.
        layout: The frame then; locals are those that are bound.
    """

    jumps: bool
    layout: Layout


def reach_of(instruction: Instruction) -> int:
    """How many slots of the stack, from the top, an instruction reads or pops."""
    name, arg = instruction.name, instruction.arg
    if _is_conditional(name):
        return 1
    pops = _EFFECTS[name][0] if name in _EFFECTS else 0
    return max(_count(pops, arg), _count(_REACH.get(name, 0), arg))


def _count(count: Count, arg: int) -> int:
    return count if isinstance(count, int) else count(arg)


def _is_conditional(name: str) -> bool:
    return name == "FOR_ITER" or "JUMP_" in name and "_IF_" in name


def outcomes(
    code: types.CodeType, instruction: Instruction, layout: Layout
) -> tuple[Outcome, ...]:
    """How an instruction can end, exceptions apart.

    Raises:
        CannotStep: It makes sense only in a frame of its own.
    """
    name, stack = instruction.name, layout.stack
    if name in CANNOT:
        raise CannotStep(f"{name}: {CANNOT[name]}")
    if name in RAISING:
        return ()
    if name in ALWAYS_JUMPS:
        return (Outcome(True, layout),)
    if _is_conditional(name):
        return _branches(name, layout)
    if name in _MOVES:
        return (Outcome(False, _MOVES[name](code, instruction.arg, layout)),)
    pops, pushes = (_count(count, instruction.arg) for count in _EFFECTS[name])
    rest = stack[: len(stack) - pops]
    after = replace(layout, stack=rest + (Slot.VALUE,) * pushes)
    if name in ("LOAD_METHOD", *PUSHES_NULL):
        after = _with_null(name, instruction.arg, after)
    if name in _BINDS:
        after = _bind(code, instruction.arg, after, _BINDS[name])
    return (Outcome(False, after),)


def _branches(name: str, layout: Layout) -> tuple[Outcome, ...]:
    popped = replace(layout, stack=layout.stack[:-1])
    if name == "FOR_ITER":
        stays = replace(layout, stack=(*layout.stack, Slot.VALUE))
        return Outcome(False, stays), Outcome(True, popped)
    kept = layout if name.endswith("_OR_POP") else popped
    return Outcome(False, popped), Outcome(True, kept)


def _with_null(name: str, arg: int, after: Layout) -> Layout:
    """After a load that was run without its NULL, which is pushed on arrival."""
    if name != "LOAD_METHOD" and not arg & 1:
        return after
    pair = (Slot.NULL, Slot.VALUE) if NULL_IS_FIRST else (Slot.VALUE, Slot.NULL)
    return replace(after, stack=after.stack[:-1] + pair)


# Instructions that only move what is there, or know what they push.

_BINDS = {"DELETE_FAST": False, "MAKE_CELL": True}


def name_of(code: types.CodeType, index: int) -> str:
    """The name of a local, cell or free variable by its place in the frame."""
    names = code.co_varnames
    if index < len(names):
        return names[index]
    cells = [name for name in code.co_cellvars if name not in names]
    return (cells + list(code.co_freevars))[index - len(names)]


def _bind(code: types.CodeType, index: int, layout: Layout, bound: bool) -> Layout:
    name = name_of(code, index)
    if name in code.co_cellvars:
        cells = _with(layout.cells, name, bound, code.co_cellvars)
        local_names = _with(layout.locals, name, False, code.co_varnames)
        return replace(layout, cells=cells, locals=local_names)
    return replace(layout, locals=_with(layout.locals, name, bound, code.co_varnames))


def _with(names: tuple[str, ...], name: str, present: bool, order) -> tuple[str, ...]:
    chosen = {*names, name} if present else {*names} - {name}
    return tuple(name for name in order if name in chosen)


def _store(code: types.CodeType, index: int, layout: Layout) -> Layout:
    *rest, top = layout.stack
    stored = _bind(code, index, layout, top is not Slot.NULL)
    return replace(stored, stack=tuple(rest))


def _load(code: types.CodeType, index: int, layout: Layout) -> Layout:
    return replace(layout, stack=(*layout.stack, Slot.VALUE))


def _store_load(code: types.CodeType, arg: int, layout: Layout) -> Layout:
    return _load(code, arg & 15, _store(code, arg >> 4, layout))


def _store_store(code: types.CodeType, arg: int, layout: Layout) -> Layout:
    return _store(code, arg & 15, _store(code, arg >> 4, layout))


def _load_and_clear(code: types.CodeType, index: int, layout: Layout) -> Layout:
    bound = name_of(code, index) in layout.locals + layout.cells
    cleared = _bind(code, index, layout, False)
    slot = Slot.VALUE if bound else Slot.NULL
    return replace(cleared, stack=(*layout.stack, slot))


def _push_null(code: types.CodeType, arg: int, layout: Layout) -> Layout:
    return replace(layout, stack=(*layout.stack, Slot.NULL))


def _copy(code: types.CodeType, depth: int, layout: Layout) -> Layout:
    copied = layout.stack[-depth]
    if copied is Slot.PREVIOUS:  # the copy is not what POP_EXCEPT will restore from
        copied = Slot.VALUE
    return replace(layout, stack=(*layout.stack, copied))


def _swap(code: types.CodeType, depth: int, layout: Layout) -> Layout:
    stack = list(layout.stack)
    stack[-1], stack[-depth] = stack[-depth], stack[-1]
    return replace(layout, stack=tuple(stack))


def _push_exc_info(code: types.CodeType, arg: int, layout: Layout) -> Layout:
    return replace(layout, stack=(*layout.stack[:-1], Slot.PREVIOUS, Slot.VALUE))


def _pop_except(code: types.CodeType, arg: int, layout: Layout) -> Layout:
    """Takes what was saved last, be it a copy: the original then means nothing."""
    *rest, top = layout.stack
    if top is not Slot.PREVIOUS:
        last = len(rest) - 1 - rest[::-1].index(Slot.PREVIOUS)
        rest[last] = Slot.VALUE
    return replace(layout, stack=tuple(rest))


_MOVES: dict[str, Callable[[types.CodeType, int, Layout], Layout]] = {
    "COPY": _copy,
    "LOAD_FAST_AND_CLEAR": _load_and_clear,
    "POP_EXCEPT": _pop_except,
    "PUSH_EXC_INFO": _push_exc_info,
    "PUSH_NULL": _push_null,
    "STORE_FAST": _store,
    "STORE_FAST_LOAD_FAST": _store_load,
    "STORE_FAST_STORE_FAST": _store_store,
    "SWAP": _swap,
}
