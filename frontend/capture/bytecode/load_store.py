"""Loads and stores: the stack, locals, cells, globals, names, attributes, items.

Source: https://docs.python.org/3.12/library/dis.html#opcode-LOAD_CONST and following
"""

from __future__ import annotations

import builtins

from girih.errors import unsupported
from girih.frontend.capture.bytecode.table import of_version, opcode
from girih.frontend.capture.models.registry import models
from girih.frontend.capture.values.base import NULL, Raised
from girih.frontend.capture.values.classes import super_of
from girih.frontend.capture.values.function import BoundMethod, CellValue
from girih.frontend.capture.values.sequence import SliceValue

# https://docs.python.org/3.12/library/dis.html#opcode-NOP


@opcode("NOP", "RESUME", "CACHE", "EXTENDED_ARG", "PRECALL", "SETUP_ANNOTATIONS")
def _nop(tracer, frame, instruction):
    pass


@opcode("POP_TOP")
def _pop_top(tracer, frame, instruction):
    frame.pop()


@opcode("COPY")
def _copy(tracer, frame, instruction):
    frame.push(frame.stack[-instruction.arg])


@opcode("SWAP")
def _swap(tracer, frame, instruction):
    stack, depth = frame.stack, instruction.arg
    stack[-1], stack[-depth] = stack[-depth], stack[-1]


@opcode("PUSH_NULL")
def _push_null(tracer, frame, instruction):
    frame.push(NULL)


# https://docs.python.org/3.12/library/dis.html#opcode-LOAD_CONST


@opcode("LOAD_CONST")
def _load_const(tracer, frame, instruction):
    frame.push(tracer.constant(instruction.argval))


# https://docs.python.org/3.12/library/dis.html#opcode-LOAD_FAST


@opcode("LOAD_FAST", "LOAD_FAST_CHECK")
def _load_fast(tracer, frame, instruction):
    frame.push(_local(tracer, frame, instruction.argval))


@opcode("LOAD_FAST_LOAD_FAST", since=(3, 13))
def _load_fast_load_fast(tracer, frame, instruction):
    for name in instruction.argval:
        frame.push(_local(tracer, frame, name))


def _local(tracer, frame, name: str):
    value = frame.locals.get(name)
    if value is None:  # since CPython 3.13, cells are loaded so too
        value = frame.cells.get(name)
    if value is None:
        message = f"cannot access local variable '{name}' where it is not"
        message += " associated with a value"
        tracer.throw(UnboundLocalError, message)
    return value


@opcode("STORE_FAST")
def _store_fast(tracer, frame, instruction):
    _store_local(frame, instruction.argval, frame.pop())


@opcode("STORE_FAST_STORE_FAST", since=(3, 13))
def _store_fast_store_fast(tracer, frame, instruction):
    for name in instruction.argval:
        _store_local(frame, name, frame.pop())


@opcode("STORE_FAST_LOAD_FAST", since=(3, 13))
def _store_fast_load_fast(tracer, frame, instruction):
    stored, loaded = instruction.argval
    _store_local(frame, stored, frame.pop())
    frame.push(_local(tracer, frame, loaded))


def _store_local(frame, name: str, value) -> None:
    if value is NULL:  # restored after a comprehension, and unbound before it
        frame.locals.pop(name, None)
    elif isinstance(value, CellValue) and name in frame.code.co_cellvars:
        frame.cells[name] = value
    else:
        frame.locals[name] = value


@opcode("DELETE_FAST")
def _delete_fast(tracer, frame, instruction):
    if instruction.argval not in frame.locals:
        _throw_unbound(tracer, frame, instruction.argval)
    del frame.locals[instruction.argval]


@opcode("LOAD_FAST_AND_CLEAR", since=(3, 12))
def _load_fast_and_clear(tracer, frame, instruction):
    name = instruction.argval
    held = frame.cells.pop(name, None) or frame.locals.pop(name, None)
    frame.push(held or NULL)


# https://docs.python.org/3.12/library/dis.html#opcode-MAKE_CELL


@opcode("MAKE_CELL")
def _make_cell(tracer, frame, instruction):
    name = instruction.argval
    frame.cells[name] = CellValue(frame.locals.pop(name, None))


@opcode("COPY_FREE_VARS")
def _copy_free_vars(tracer, frame, instruction):
    cells = frame.function.closure(tracer)
    frame.cells.update(zip(frame.code.co_freevars, cells, strict=True))


@opcode("LOAD_CLOSURE")
def _load_closure(tracer, frame, instruction):
    frame.push(frame.cells[instruction.argval])


@opcode("LOAD_DEREF")
def _load_deref(tracer, frame, instruction):
    name = instruction.argval
    content = frame.cells[name].content
    if content is None:
        _throw_unbound(tracer, frame, name)
    frame.push(content)


def _throw_unbound(tracer, frame, name: str):
    """Raises for a variable without a value: one of the function, or of an outer."""
    if name in frame.code.co_freevars:
        message = f"cannot access free variable '{name}' where it is not"
        message += " associated with a value in enclosing scope"
        tracer.throw(NameError, message)
    message = f"cannot access local variable '{name}' where it is not"
    tracer.throw(UnboundLocalError, f"{message} associated with a value")


@opcode("LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF", "LOAD_LOCALS")
def _load_in_class(tracer, frame, instruction):
    unsupported(
        kind="class statement",
        context=instruction.opname,
        explanation="Classes are not made inside a graph.",
    )


@opcode("STORE_DEREF")
def _store_deref(tracer, frame, instruction):
    cell = frame.cells[instruction.argval]
    tracer.effects.set_cell(cell)
    cell.content = frame.pop()


@opcode("DELETE_DEREF")
def _delete_deref(tracer, frame, instruction):
    cell = frame.cells[instruction.argval]
    if cell.content is None:
        _throw_unbound(tracer, frame, instruction.argval)
    tracer.effects.set_cell(cell)
    cell.content = None


# https://docs.python.org/3.12/library/dis.html#opcode-LOAD_GLOBAL


@opcode("LOAD_GLOBAL")
def _load_global(tracer, frame, instruction):
    found = tracer.load_name(frame, instruction.argval)
    frame.stack.extend(_WITH_NULL(found) if instruction.arg & 1 else (found,))


# CPython 3.13 has the NULL beside a callable after it, not before.
_WITH_NULL = of_version(
    {(3, 11): lambda found: (NULL, found), (3, 13): lambda found: (found, NULL)}
)


@opcode("STORE_GLOBAL")
def _store_global(tracer, frame, instruction):
    tracer.store_global(frame.namespace, instruction.argval, frame.pop())


@opcode("DELETE_GLOBAL")
def _delete_global(tracer, frame, instruction):
    name = instruction.argval
    if tracer.load_global(frame.namespace, name) is None:
        tracer.throw(NameError, f"name '{name}' is not defined")
    tracer.store_global(frame.namespace, name, None)


@opcode("LOAD_NAME", "STORE_NAME", "DELETE_NAME", "LOAD_FROM_DICT_OR_GLOBALS")
def _load_name(tracer, frame, instruction):
    unsupported(
        kind="code of a class or module body",
        context=instruction.opname,
        explanation="Only functions are captured.",
    )


@opcode("LOAD_BUILD_CLASS")
def _load_build_class(tracer, frame, instruction):
    frame.push(tracer.constant(builtins.__build_class__))


@models(builtins.__build_class__)
def _build_class(tracer, body, name, *bases, **keywords):
    unsupported(
        kind="class statement in a function",
        context=name.as_python(),
        explanation="Classes are not made inside a graph.",
        hints=("Define the class outside the compiled function.",),
    )


@opcode("LOAD_ASSERTION_ERROR")
def _load_assertion_error(tracer, frame, instruction):
    frame.push(tracer.constant(AssertionError))


# https://docs.python.org/3.12/library/dis.html#opcode-LOAD_ATTR


@opcode("LOAD_ATTR", until=(3, 11))
def _load_attr(tracer, frame, instruction):
    frame.push(tracer.get_attr(frame.pop(), instruction.argval))


@opcode("LOAD_METHOD", until=(3, 11))
def _load_method(tracer, frame, instruction):
    push_method(frame, tracer.get_attr(frame.pop(), instruction.argval))


@opcode("LOAD_ATTR", since=(3, 12))
def _load_attr_or_method(tracer, frame, instruction):
    found = tracer.get_attr(frame.pop(), instruction.argval)
    if instruction.arg & 1:
        push_method(frame, found)
    else:
        frame.push(found)


def push_method(frame, found) -> None:
    """Pushes a method as CPython does: unbound with its owner, or beside a NULL."""
    if isinstance(found, BoundMethod):
        frame.push(found.function)
        frame.push(found.owner)
    else:
        frame.stack.extend(_WITH_NULL(found))


@opcode("LOAD_SUPER_ATTR", since=(3, 12))
def _load_super_attr(tracer, frame, instruction):
    callee, cls, owner = frame.pop_many(3)
    if callee.identity() is super:
        made = super_of(tracer, cls, owner)
    else:
        made = tracer.call(callee, [cls, owner] if instruction.arg & 2 else [], {})
    name = frame.code.co_names[instruction.arg >> 2]
    found = tracer.get_attr(made, name)
    if instruction.arg & 1:
        push_method(frame, found)
    else:
        frame.push(found)


@opcode("STORE_ATTR")
def _store_attr(tracer, frame, instruction):
    value, owner = frame.pop_many(2)
    owner.set_attr(tracer, instruction.argval, value)


@opcode("DELETE_ATTR")
def _delete_attr(tracer, frame, instruction):
    frame.pop().set_attr(tracer, instruction.argval, None)


# https://docs.python.org/3.12/library/dis.html#opcode-BINARY_SUBSCR


@opcode("BINARY_SUBSCR")
def _binary_subscr(tracer, frame, instruction):
    owner, key = frame.pop_many(2)
    frame.push(tracer.get_item(owner, key))


@opcode("STORE_SUBSCR")
def _store_subscr(tracer, frame, instruction):
    value, owner, key = frame.pop_many(3)
    owner.set_item(tracer, key, value)


@opcode("DELETE_SUBSCR")
def _delete_subscr(tracer, frame, instruction):
    owner, key = frame.pop_many(2)
    owner.delete_item(tracer, key)


@opcode("BINARY_SLICE", since=(3, 12))
def _binary_slice(tracer, frame, instruction):
    owner, start, stop = frame.pop_many(3)
    key = SliceValue(start, stop, tracer.constant(None))
    frame.push(tracer.get_item(owner, key))


@opcode("STORE_SLICE", since=(3, 12))
def _store_slice(tracer, frame, instruction):
    value, owner, start, stop = frame.pop_many(4)
    owner.set_item(tracer, SliceValue(start, stop, tracer.constant(None)), value)


# https://docs.python.org/3.12/library/dis.html#opcode-IMPORT_NAME


@opcode("IMPORT_NAME")
def _import_name(tracer, frame, instruction):
    level, names = frame.pop_many(2)
    package = frame.namespace.get("__package__") or ""
    depth = level.as_python()
    name = instruction.argval
    if depth:
        base = package.rsplit(".", depth - 1)[0] if depth > 1 else package
        name = f"{base}.{name}" if name else base
    module = tracer.import_in(frame, name)
    if names.as_python() is None and not depth:
        module = tracer.imported(name.split(".")[0])
    frame.push(module)


@opcode("IMPORT_FROM")
def _import_from(tracer, frame, instruction):
    module = frame.stack[-1]
    found = tracer.find_attr(module, instruction.argval)
    if found is None:
        found = _submodule(tracer, module, instruction.argval)
    frame.push(found)


def _submodule(tracer, module, name: str):
    """``from package import module``; nothing else is there to be imported."""
    try:
        if tracer.find_attr(module, "__path__") is None:
            tracer.throw(ModuleNotFoundError)
        return tracer.imported(f"{module.module.__name__}.{name}")
    except Raised as raised:
        if not issubclass(raised.value.python_type(), ModuleNotFoundError):
            raise
    tracer.fold_raw(exec, f"from {module.module.__name__} import {name}", {})
    raise AssertionError(f"girih bug: {name} can be imported")
