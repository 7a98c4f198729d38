"""Objects whose death runs code: ``__del__``, callbacks of weak references.

They are made by Python, outside of graphs, and come in as arguments of the code that
goes on. Where only traced frames hold them, an instruction may give up the last
reference; the graph is broken before it, and Python runs it. What existed before is
given up by changes; those that may do so are left to Python too. What a function still
holds where it returns dies with a frame that holds its variables as its own would.
"""

from __future__ import annotations

import ast
import functools
import types
import weakref
from collections import deque
from collections.abc import Iterable
from typing import Any

import torch

from girih.errors import UnsupportedError, unsupported
from girih.frontend.capture import _frame
from girih.frontend.capture.frame import Frame
from girih.frontend.capture.rebuilding.code import call, tuple_of
from girih.frontend.capture.resume.origin import in_prologue, origin_of, original_code
from girih.frontend.capture.values.base import Value
from girih.frontend.capture.values.key import Key
from girih.frontend.capture.values.lookup import content_of

_MOST = 10_000  # objects that are looked at
_LEAVES = (
    *(type(None), bool, int, float, complex, str, bytes, type, types.ModuleType),
    *(torch.dtype, torch.device, types.CodeType, types.BuiltinFunctionType),
)
_HARMLESS = frozenset(
    """CACHE COPY COPY_FREE_VARS EXTENDED_ARG JUMP_BACKWARD JUMP_FORWARD KW_NAMES
    LOAD_CLOSURE LOAD_CONST LOAD_DEREF LOAD_FAST LOAD_GLOBAL MAKE_CELL NOP PRECALL
    PUSH_NULL RESUME SWAP""".split()
)


def refuse_to_make(cls: type) -> None:
    """Breaks the graph where an object is made whose class has a ``__del__``.

    Raises:
        UnsupportedError: It has one.
    """
    if hasattr(cls, "__del__"):
        raise UnsupportedError(
            "object with a destructor",
            cls.__qualname__,
            "Its __del__ has to run when Python would run it.",
        ).marked(keeps_variables=True)


def refuse_callback(value: Value) -> None:
    """Breaks the graph where a weak reference gets a callback."""
    raise UnsupportedError(
        "weak reference with a callback",
        repr(value),
        "The callback has to run when Python would run it.",
    ).marked(keeps_variables=True)


# Real objects ---------------------------------------------------------------------


def dies_silently(obj: Any) -> bool:
    """A guard: giving up an object runs no code."""
    seen, todo = set(), [obj]
    while todo and len(seen) < _MOST:
        obj = todo.pop()
        if isinstance(obj, _LEAVES) or id(obj) in seen:
            continue
        seen.add(id(obj))
        if _runs_code(obj):
            return False
        todo.extend(_parts(obj))
    return True


def _runs_code(obj: Any) -> bool:
    if isinstance(obj, types.GeneratorType):
        frame = obj.gi_frame
        return frame is not None and bool(frame.f_code.co_exceptiontable)
    if hasattr(type(obj), "__del__"):
        return True
    return any(map(_has_callback, weakref.getweakrefs(obj)))


def _has_callback(reference: weakref.ref) -> bool:
    return is_programs(getattr(reference, "__callback__", None))


def is_programs(callback: Any) -> bool:
    """Whether a callback is the program's; libraries forget what belongs to objects."""
    module = getattr(callback, "__module__", None) or ""
    if isinstance(callback, weakref.finalize):
        return True
    package = module.partition(".")[0]
    return callback is not None and package not in ("torch", "girih", "weakref")


def _parts(obj: Any) -> Iterable[Any]:
    """What an object holds. Modules of torch are owned elsewhere."""
    if isinstance(obj, dict):
        return [*content_of(obj), *dict.values(obj)]
    if isinstance(obj, (list, tuple, set, frozenset, deque)):
        return content_of(obj)
    if isinstance(obj, types.CellType):
        return _content(obj)
    if isinstance(obj, types.FunctionType):
        return obj.__closure__ or ()
    if isinstance(obj, types.MethodType):
        return (obj.__self__,)
    if isinstance(obj, functools.partial):
        return (obj.args, obj.keywords)
    if isinstance(obj, types.GeneratorType):
        return list(obj.gi_frame.f_locals.values()) if obj.gi_frame else ()
    if isinstance(obj, (torch.Tensor, torch.nn.Module)):
        return ()
    return _attributes(obj)


def _content(cell: types.CellType) -> tuple:
    try:
        return (cell.cell_contents,)
    except ValueError:
        return ()


def _attributes(obj: Any) -> list[Any]:
    found = list(getattr(obj, "__dict__", {}).values())
    for cls in type(obj).__mro__:
        for member in vars(cls).values():
            if isinstance(member, types.MemberDescriptorType):
                found.append(_slot(member, obj))
    return found


def _slot(member: types.MemberDescriptorType, obj: Any) -> Any:
    try:
        return member.__get__(obj)
    except AttributeError:
        return None


# Traced values --------------------------------------------------------------------


class Watch:
    """The objects whose death runs code and which only the traced frames may hold.

    Attributes:
        values: The traced values, by identity; of containers of such objects too.
        silent: Identities of those from outside that were found to die silently.
    """

    def __init__(self):
        self.values: dict[int, Value] = {}
        self.silent: set[int] = set()

    def begin(self, tracer, call, bound: dict[str, Value]) -> None:
        """Finds the objects among the arguments.

        What calls a compiled function from Python holds the arguments itself.
        """
        origin = origin_of(call.function.__code__)
        if call.is_callee or origin is not None:
            self._find(call.arguments, list(bound.values()), origin)
        tracer.effects.gives_up = functools.partial(_give_up, tracer)

    def _find(self, reals: tuple, values: list[Value], origin) -> None:
        if origin is not None and origin.calls:
            inner, given = reals[-2:]
            code = getattr(inner, "__code__", None)
            self._find(given, values[-1].items, origin_of(code))
            reals, values = reals[:-2], values[:-2]
        for real, value in zip(reals, values, strict=True):
            if not dies_silently(real):
                self.values[id(value)] = value

    def __bool__(self) -> bool:
        return bool(self.values)

    def holds(self, value: Any) -> bool:
        """Whether a traced value holds one of the objects, or is it."""
        return bool(self.values) and bool(self._reached([value], any_will_do=True))

    def check(self, tracer, frame: Frame, index: int) -> None:
        """Breaks the graph where an instruction gave up one of the objects.

        Args:
            tracer: The tracer.
            frame: The frame of the instruction.
            index: Where it stands.

        Raises:
            UnsupportedError: It did.
        """
        name = frame.plan.instructions[index].opname
        if name in _HARMLESS or in_prologue(frame.code, index):
            return
        reached = self._reached([*reversed(tracer.frames), tracer.effects])
        lost = next((v for k, v in self.values.items() if k not in reached), None)
        if lost is not None:
            frame.next = index + 1
            _refuse(lost.python_type())

    def _reached(self, roots: list, any_will_do: bool = False) -> set[int]:
        seen: set[int] = set()
        reached: set[int] = set()
        todo = deque(roots)
        while todo and len(reached) < (1 if any_will_do else len(self.values)):
            part = todo.popleft()
            if id(part) in seen:
                continue
            if id(part) in self.values:
                reached.add(id(part))
            seen.add(id(part))
            todo.extend(_held_by(part))
        return reached


def _held_by(part: Any) -> Iterable[Any]:
    """What a traced value, or a part of one, refers to."""
    if isinstance(part, (list, tuple, set, frozenset, deque)):
        return list(part)
    if isinstance(part, dict):
        return [*part.keys(), *part.values()]
    if isinstance(part, Key):
        return (part.value,)
    if isinstance(part, Frame):
        return (part.locals, part.stack, part.cells, part.handled, part.function)
    if isinstance(part, Value):
        hidden = _no_longer_held(part)
        return [held for name, held in vars(part).items() if name not in hidden]
    if hasattr(part, "changed_attributes"):
        return _changed_outside(part)
    return ()


def _no_longer_held(value: Value) -> tuple[str, ...]:
    """Attributes of a traced value that say what it held before."""
    if getattr(value, "is_finished", False):
        return ("frame",)
    return () if getattr(value, "is_unread", False) else ("original", "added")


def _changed_outside(effects) -> list[Any]:
    changed = [change.owner for change in effects.objects.values()]
    changed += [*effects.containers.values(), *effects.cells.values()]
    contents = [value for _, value in effects.globals.values()]
    return contents + [owner for owner in changed if not _comes_from_frame(owner)]


def _comes_from_frame(value: Value) -> bool:
    """Whether a value came in through an argument, which the frame itself may hold."""
    source = value.source
    while source is not None and source.base is not None:
        source = source.base
    return source is not None and source.access == "local"


def _refuse(cls: type) -> None:
    unsupported(
        kind="deletion of an object with a destructor",
        context=cls.__qualname__,
        explanation="Its __del__ has to run now, if this was the last reference.",
    )


def _give_up(tracer, value: Any) -> None:
    """Something outside is about to lose what it holds, or a container its items.

    Raises:
        UnsupportedError: That may run code.
    """
    if not isinstance(value, Value) or value.source is None:
        return
    if id(value) in tracer.finalizers.silent:
        return
    refuse_to_lose(tracer.real_of(value))
    tracer.finalizers.silent.add(id(value))
    if tracer.minds_finalizers:
        tracer.guards.add(value.source, "call", dies_silently)


def refuse_to_lose(obj: Any) -> None:
    """Breaks the graph where an object from outside may die.

    Raises:
        UnsupportedError: That runs code.
    """
    if not dies_silently(obj):
        _refuse(type(obj))


# What dies where a function returns -----------------------------------------------


def returning(rebuilder, frame: Frame, watch: Watch, result: ast.expr) -> ast.expr:
    """The result; what holds watched objects dies in the order of the variables."""
    code = original_code(frame.code)
    variables = {**frame.locals, **frame.cells}
    names = dict.fromkeys((*code.co_varnames, *code.co_cellvars))
    held = [variables[name] for name in names if name in variables]
    held = [value for value in held if watch.holds(value)]
    if not held:
        return result
    args = tuple_of([result, *map(rebuilder.expression, held)])
    function = rebuilder.constant(_returning(len(held)))
    return call(rebuilder.constant(_frame.Tail), function, args, ast.Constant(True))


@functools.cache
def _returning(count: int) -> types.FunctionType:
    """A function that returns its first argument; its frame holds the others."""
    code = _first_of.__code__
    names = ("result", *(f"held{i}" for i in range(count)))
    flags = code.co_flags
    new = code.replace(
        co_argcount=count + 1, co_nlocals=count + 1, co_varnames=names, co_flags=flags
    )
    return types.FunctionType(new, {})


def _first_of(result):
    return result
