"""Runs functions in pieces: the reference for resume, step and generator code.

``by_steps`` runs a function by nothing but step code, instruction by instruction.
``Stops`` finds all instructions that a call runs; ``stop`` runs the function natively
up to one of them and takes its frame apart there.
"""

import copy
import gc
import inspect
import sys
import types
from dataclasses import dataclass, replace

import frame_programs

from girih.frontend.capture.resume import step
from girih.frontend.capture.resume.arguments import arguments
from girih.frontend.capture.resume.body import moved_pieces, rewrite
from girih.frontend.capture.resume.builder import Builder
from girih.frontend.capture.resume.code import generator_code, resume_code
from girih.frontend.capture.resume.instructions import (
    CACHES,
    OPS,
    decode,
    encode,
    unit_around,
    width,
)
from girih.frontend.capture.resume.layout import Layout, Slot
from girih.frontend.capture.resume.stack_effect import (
    NULL_IS_FIRST,
    CannotStep,
    outcomes,
)
from girih.frontend.capture.resume.tables import handler_at, handlers_of

PROGRAM_IDS = [
    f"{function.__name__}{number}"
    for number, (function, _, _) in enumerate(frame_programs.PROGRAMS)
]


LONG = 500  # instructions; a function of more takes long to run in pieces


class Tail:
    """Stands in for the C type, so that no extension module is needed."""

    def __init__(self, function, args, plain):
        self.function, self.args, self.plain = function, args, plain


def function_of(code, like):
    made = types.FunctionType(
        code, like.__globals__, like.__name__, None, like.__closure__
    )
    made.__qualname__ = like.__qualname__
    return made


@dataclass
class Entry:
    """The frame of a function behind its RESUME."""

    index: int
    layout: Layout
    arguments: list


def entry(function, args, kwargs):
    code = function.__code__
    bound = inspect.signature(function).bind(*args, **kwargs)
    bound.apply_defaults()
    values = bound.arguments
    cells = {
        name: types.CellType(values[name]) if name in values else types.CellType()
        for name in code.co_cellvars
    }
    names = tuple(n for n in code.co_varnames if n in values and n not in cells)
    layout = Layout(names, tuple(cells))
    index = next(i for i, ins in enumerate(decode(code)) if ins.name == "RESUME") + 1
    return Entry(index, layout, arguments(code, layout, values, cells, ()))


def by_steps(function, args, kwargs):
    """The result of a call, each instruction run by step code of its own."""
    code = function.__code__
    at = entry(function, args, kwargs)
    index, layout, values = at.index, at.layout, at.arguments
    while True:
        try:
            made = step.step_code(code, index, layout)
        except CannotStep as error:
            assert "leaves the frame" in str(error)
            return function_of(resume_code(code, index, layout), function)(*values)
        numbers = range(len(made.arrivals))
        tail = function_of(made.code, function)(*values, *numbers)
        del values
        if not isinstance(tail, Tail):
            return tail  # an exception was handled natively
        assert tail.plain is False
        arrival = made.arrivals[tail.function]
        index, layout, values = arrival.index, arrival.layout, tail.args


# ---- what a call does ----------------------------------------------------------------


def observe(run):
    """What a call returns or raises, with the places of the traceback."""
    outside = LookupError("handled outside")
    try:
        raise outside
    except LookupError:
        try:
            result = ("returned", plain(run()))
        except Exception as error:
            result = ("raised", _error(error), places(error.__traceback__))
        assert sys.exc_info()[1] is outside
    return result


def plain(value):
    """A value that compares by content."""
    if isinstance(value, (list, tuple)):
        return type(value), [plain(item) for item in value]
    if isinstance(value, dict):
        return [(key, plain(item)) for key, item in value.items()]
    return value if type(value).__eq__ is not object.__eq__ else type(value)


def _error(error):
    if error is None:
        return None
    context = error.__context__
    if str(context) == "'handled outside'":
        context = None
    return type(error), str(error), _error(error.__cause__), _error(context)


def places(tb):
    """Where a traceback points to, in the programs."""
    found = []
    while tb is not None:
        code = tb.tb_frame.f_code
        if code.co_filename == frame_programs.__file__:
            where = list(code.co_positions())[tb.tb_lasti // 2]
            found.append((code.co_qualname, tb.tb_lineno, where))
        tb = tb.tb_next
    return found


# ---- layouts -------------------------------------------------------------------------


def layouts_of(code, start):
    """The layout before each instruction, by following the code from its beginning."""
    instructions = decode(code)
    index_at = {ins.offset: i for i, ins in enumerate(instructions)}
    handlers = handlers_of(code)
    found = {}
    pending = [start]
    while pending:
        index, layout = pending.pop()
        if index in found:
            continue
        found[index] = layout
        instruction = instructions[index]
        handler = handler_at(handlers, instruction.offset // 2)
        if handler is not None:
            pushed = (Slot.OFFSET,) * handler.lasti + (Slot.VALUE,)
            kept = layout.stack[: handler.depth]
            target = index_at[2 * handler.target]
            pending.append((target, replace(layout, stack=kept + pushed)))
        for jumps, after in _ways_on(code, instruction, layout):
            target = instruction.target() if jumps else instruction.end
            pending.append((index_at[target], after))
    return found


def _ways_on(code, instruction, layout):
    name, stack = instruction.name, layout.stack
    if name in ("RETURN_VALUE", "RETURN_CONST"):
        return []
    if name in ("EXTENDED_ARG", "KW_NAMES", "PRECALL", "RESUME", "COPY_FREE_VARS"):
        return [(False, layout)]
    if name in _GENERATORS:
        return [
            (jumps, replace(layout, stack=stack[: len(stack) - pops] + pushes))
            for jumps, pops, pushes in _GENERATORS[name]
        ]
    ways = [(end.jumps, end.layout) for end in outcomes(code, instruction, layout)]
    if name == "FOR_ITER" and "END_FOR" in OPS:  # it is the interpreter that skips it
        ways[1] = (True, replace(layout, stack=(*stack, Slot.VALUE)))
    return ways


_V = (Slot.VALUE,)
_GENERATORS = {
    "RETURN_GENERATOR": [(False, 0, _V)],
    "YIELD_VALUE": [(False, 1, _V)],
    "SEND": [(False, 1, _V), (True, 1, _V) if "END_SEND" in OPS else (True, 2, _V)],
    "END_SEND": [(False, 2, _V)],
    "END_FOR": [(False, 1 if "TO_BOOL" in OPS else 2, ())],
    "CLEANUP_THROW": [(False, 3, _V + _V)],
}


# ---- stopping anywhere ---------------------------------------------------------------


@dataclass
class Stop:
    """A frame that was stopped."""

    index: int
    layout: Layout
    arguments: tuple


def stops_of(function, args, kwargs):
    """Index and layout of all instructions a call runs, on the first arrival."""
    code = function.__code__
    instructions = decode(code)
    index_at = {ins.offset: i for i, ins in enumerate(instructions)}
    found = {}
    frames = []  # the call itself; the function may call itself

    def trace(frame, event, arg):
        if frame.f_code is not code or frame not in (*frames, frame)[:1]:
            return None
        frames.append(frame)
        frame.f_trace_opcodes = True
        if event == "opcode":
            index = unit_around(instructions, index_at[frame.f_lasti])[0]
            found.setdefault(index, frozenset(frame.f_locals))
        return trace

    before = sys.gettrace()
    for _ in range(2):  # 3.12 notes that opcodes are traced after the first call
        frames.clear()
        sys.settrace(trace)
        try:
            function(*copy.deepcopy(args), **kwargs)
        except Exception:
            pass
        finally:
            sys.settrace(before)
    first = entry(function, args, kwargs)
    known = layouts_of(code, (first.index, first.layout))
    chosen = [index for index in found if index in known]
    if len(instructions) > LONG:  # a few of them will do
        chosen = chosen[:: len(chosen) // 8]
    return {i: _with_bound(code, known[i], found[i]) for i in chosen}


def _with_bound(code, layout, bound):
    cells = (*layout.cells, *code.co_freevars)
    names = tuple(n for n in code.co_varnames if n in bound and n not in cells)
    return replace(layout, locals=names)


def stop(function, args, kwargs, index, layout):
    """Runs a function natively up to an instruction and takes its frame apart."""
    first = entry(function, args, kwargs)
    code = _stopping_code(function.__code__, first, index, layout)
    tail = function_of(code, function)(*first.arguments)
    assert isinstance(tail, Tail), "the function did not arrive"
    return Stop(index, layout, tail.args)


def _stopping_code(code, first, index, layout):
    """The function with a jump to the end of a step put before an instruction."""
    instructions = decode(code)
    offset = instructions[index].offset
    builder = Builder(code, first.layout, offset, (), len(layout.stack))
    pieces = [_plain_pieces(ins, builder.moved) for ins in instructions]
    while instructions[index].name == "EXTENDED_ARG":
        index += 1
    pieces[index] = [(OPS["NOP"], 0)] * _ROOM + pieces[index]
    builder._body = body = rewrite(code, pieces)
    builder.enter()
    builder.restore_variables()
    end = builder.detached(lambda: _take_apart(builder, layout))
    start = body.unit(instructions[first.index].offset // 2)
    builder.emit("JUMP_FORWARD", start + 1 + len(end) // 2)
    target = builder.units
    builder.append(end)
    made = builder.finish(depth=300 + len(code.co_varnames))
    data = bytearray(made.co_code)
    jump = 2 * (builder.units + body.unit(offset // 2))
    distance = jump // 2 + _ROOM - target
    written = encode(_JUMP, distance, width(distance))
    end_of_jump = jump + 2 * _ROOM
    data[end_of_jump - len(written) : end_of_jump] = written
    return made.replace(co_code=bytes(data))


def _plain_pieces(instruction, moved):
    """An instruction; what a load of a method pushes must be known beforehand."""
    pieces = moved_pieces(instruction, moved)
    if step._is_method_load(instruction) and instruction.name != "LOAD_GLOBAL":
        (op, arg), *_ = pieces
        load = (op, arg & ~1)
        if instruction.name == "LOAD_METHOD":
            load = (OPS["LOAD_ATTR"], arg)
        pieces = [load, (OPS["PUSH_NULL"], 0)]
        if NULL_IS_FIRST:
            pieces.append((OPS["SWAP"], 2))
    return pieces


_JUMP = OPS["JUMP_BACKWARD"]
_ROOM = 4 + CACHES[_JUMP]


def _take_apart(builder, layout):
    for slot, name in reversed(list(zip(layout.stack, builder.scratch, strict=True))):
        builder.save_slot(slot, name)
    builder.callable(lambda: builder.constant(Tail))
    builder.constant(None)
    builder.emit("BUILD_TUPLE", step._load_frame(builder, layout))
    builder.constant(False)
    builder.call(3)
    builder.emit("RETURN_VALUE")


# ---- generators ----------------------------------------------------------------------


def take_over(generator, function):
    """A generator that goes on where a suspended one stands.

    What lies on the stack of a suspended generator is the end of what it refers to.
    """
    code, frame = generator.gi_code, generator.gi_frame
    instructions = decode(code)
    index_at = {ins.offset: i for i, ins in enumerate(instructions)}
    known = layouts_of(code, (0, Layout()))
    index = index_at[frame.f_lasti]
    if instructions[index].name == "RESUME":  # 3.13 points to what comes next
        index -= 1
    layout = known[index]
    layout = replace(layout, stack=layout.stack[:-1])
    cells, stack = _content(generator, code, layout)
    local_values = dict(frame.f_locals)
    layout = _with_bound(code, layout, local_values.keys())
    values = arguments(code, layout, local_values, cells, stack)
    made = generator_code(code, index, layout, started=True)
    taken = function_of(made, function)(*values)
    assert next(taken) is None
    return taken


def _content(generator, code, layout):
    held = gc.get_referents(generator)
    # Behind the stack stands what is being handled: an exception, None or nothing.
    handled = [held.pop()] if Slot.PREVIOUS in layout.stack else []
    if held[-1] is None:  # no program has None on the stack
        held.pop()
    count = layout.passed()
    stack = held[len(held) - count :]
    slots = [slot for slot in layout.stack if slot is not Slot.NULL]
    exceptions = iter(handled)
    stack = [
        next(exceptions) if slot is Slot.PREVIOUS else value
        for slot, value in zip(slots, stack, strict=True)
    ]
    cells = [item for item in held if isinstance(item, types.CellType)]
    return dict(zip(layout.cells, cells, strict=False)), stack
