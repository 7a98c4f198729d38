"""The code that surrounds the graph: it makes the Python result and replays changes.

It is a Python function, made as an AST: its parameters are the slots that the guards
fetched; it calls the graph with the inputs, changes what the program changed, and
returns what the program returned. ``ast.unparse`` prints it.
"""

from __future__ import annotations

import ast
import collections
import functools
import types
from typing import Any

from girih.errors import unsupported
from girih.frontend.capture.calls import c_base, c_method
from girih.frontend.capture.source import Source
from girih.frontend.capture.values.base import Method, Value
from girih.frontend.capture.values.builtin import BuiltinValue, NamespaceValue
from girih.frontend.capture.values.classes import ClassValue
from girih.frontend.capture.values.constant import Constant, ConstantMethod
from girih.frontend.capture.values.exception import ExceptionValue
from girih.frontend.capture.values.function import (
    BoundMethod,
    CellValue,
    FunctionValue,
    PartialValue,
)
from girih.frontend.capture.values.instance_dict import InstanceDictValue
from girih.frontend.capture.values.mapping import DictValue, SetValue, ViewValue
from girih.frontend.capture.values.object import ObjectValue
from girih.frontend.capture.values.sequence import ListValue, SliceValue, TupleValue
from girih.frontend.capture.values.symbol import SymbolValue
from girih.frontend.capture.values.tensor import TensorValue

_LITERAL_TYPES = (int, float, complex, str, bytes, bool, type(None), type(Ellipsis))


def _load(name: str) -> ast.expr:
    return ast.Name(name, ast.Load())


def _call(function: ast.expr, *args: ast.expr) -> ast.expr:
    return ast.Call(function, list(args), [])


def _method(owner: ast.expr, name: str, *args: ast.expr) -> ast.expr:
    return _call(ast.Attribute(owner, name, ast.Load()), *args)


class Rebuilder:
    """Collects what the surrounding code needs, and writes it.

    Attributes:
        outputs: Nodes whose values the graph has to return, in order.
        slots: Sources of the parameters: the graph's inputs, then others.
        constants: Objects that the code holds, by name.
        body: The statements after the call of the graph.
    """

    def __init__(self, inputs: list[Source]):
        self.outputs: list[Any] = []
        self.slots: dict[Source, int] = {s: i for i, s in enumerate(inputs)}
        self.constants: dict[str, Any] = {}
        self.body: list[ast.stmt] = []
        self._input_count = len(inputs)
        self._made: dict[int, str] = {}
        self._alive: list[Value] = []
        self._by_constant: dict[int, str] = {}

    # Expressions

    def expression(self, value: Value) -> ast.expr:
        """An expression for a traced value."""
        name = self._made.get(id(value))
        if name is not None:
            return _load(name)
        if value.source is not None and not isinstance(value, Constant):
            return self.source(value.source)
        for cls, writer in _WRITERS:
            if isinstance(value, cls):
                return writer(self, value)
        unsupported(
            kind="a result that can't be rebuilt",
            context=repr(value),
            explanation="The graph's Python result holds an object of this kind.",
        )

    def source(self, source: Source) -> ast.expr:
        """The value of a source: a parameter, or an object that the code holds."""
        if source.access == "constant":
            return self.constant(source.key)
        index = self.slots.setdefault(source, len(self.slots))
        return _load(f"s{index}")

    def constant(self, value: Any) -> ast.expr:
        """An object that the code holds."""
        name = self._by_constant.get(id(value))
        if name is None:
            name = self._by_constant[id(value)] = f"c{len(self.constants)}"
            self.constants[name] = value
        return _load(name)

    def output(self, value: Value) -> ast.expr:
        """A value that the graph computes."""
        if value.node not in self.outputs:
            self.outputs.append(value.node)
        index = ast.Constant(self.outputs.index(value.node))
        return ast.Subscript(_load("out"), index, ast.Load())

    def assign(self, value: Value, expression: ast.expr) -> ast.expr:
        """Gives a new object a name, so that it is made once."""
        name = f"v{len(self._made)}"
        self._made[id(value)] = name
        self._alive.append(value)
        target = ast.Name(name, ast.Store())
        self.body.append(ast.Assign([target], expression))
        return _load(name)

    def do(self, expression: ast.expr) -> None:
        """A statement."""
        self.body.append(ast.Expr(expression))

    # Changes to objects that existed before

    def replay(self, effects) -> None:
        """Writes the changes of the log."""
        for owner, name, value, through in effects.changed_attributes():
            self._replay_attribute(owner, name, value, through)
        for container in effects.changed_containers():
            self._replay_container(container)
        for cell in effects.cells.values():
            self._replay_cell(cell)
        for (_, name), (namespace, value) in effects.globals.items():
            held = self.constant(namespace)
            args = [ast.Constant(name)]
            if value is None and name not in namespace:
                continue  # made and deleted
            if value is None:
                self.do(_method(held, "__delitem__", *args))
            else:
                self.do(_method(held, "__setitem__", *args, self.expression(value)))

    def _replay_attribute(self, owner, name: str, value, through: str) -> None:
        place = object if through == "object" else None
        target, text = self.expression(owner), ast.Constant(name)
        if value is None:
            function = object.__delattr__ if place else delattr
            self.do(_call(self.constant(function), target, text))
        else:
            function = object.__setattr__ if place else setattr
            made = self.expression(value)
            self.do(_call(self.constant(function), target, text, made))

    def _replay_container(self, container) -> None:
        target = self.source(container.source)
        if isinstance(container, ListValue):
            items = [self.expression(item) for item in container.items]
            everything = ast.Slice(None, None, None)
            place = ast.Subscript(target, everything, ast.Store())
            self.body.append(ast.Assign([place], ast.List(items, ast.Load())))
        elif isinstance(container, DictValue):
            content = self._dict_display(container)
            fresh = self.assign(TupleValue([]), content)
            self.do(_method(target, "clear"))
            self.do(_method(target, "update", fresh))
        else:
            content = self._set_display(container)
            fresh = self.assign(TupleValue([]), content)
            self.do(_method(target, "clear"))
            self.do(_method(target, "update", fresh))

    def _replay_cell(self, cell: CellValue) -> None:
        place = ast.Attribute(self.source(cell.source), "cell_contents", ast.Store())
        if cell.content is None:
            place.ctx = ast.Del()
            self.body.append(ast.Delete([place]))
        else:
            made = self.expression(cell.content)
            self.body.append(ast.Assign([place], made))

    # Displays

    def _dict_display(self, value: DictValue) -> ast.expr:
        keys = [self.expression(key.value) for key in value.items]
        items = [self.expression(item) for item in value.items.values()]
        return ast.Dict(keys, items)

    def _set_display(self, value: SetValue) -> ast.expr:
        items = [self.expression(key.value) for key in value.items]
        return _call(self.constant(set), ast.List(items, ast.Load()))

    # The function

    def function(self, graph, result: ast.expr, has_graph: bool):
        """The surrounding function.

        Args:
            graph: The compiled graph.
            result: The expression that is returned.
            has_graph: Whether there is anything to compute.
        """
        statements = list(self.body)
        if has_graph:
            inputs = [_load(f"s{i}") for i in range(self._input_count)]
            out = ast.Assign(
                [ast.Name("out", ast.Store())], _call(_load("graph"), *inputs)
            )
            statements.insert(0, out)
        statements.append(ast.Return(result))
        parameters = [ast.arg(f"s{i}") for i in range(len(self.slots))]
        arguments = ast.arguments([], parameters, None, [], [], None, [])
        definition = ast.FunctionDef("rebuilt", arguments, statements, [])
        module = ast.fix_missing_locations(ast.Module([definition], []))
        namespace = {"graph": graph, **self.constants}
        exec(compile(module, "<girih>", "exec"), namespace)
        return namespace["rebuilt"], ast.unparse(definition)


# Writers, one for each kind of value


def _write_tensor(rebuilder: Rebuilder, value) -> ast.expr:
    return rebuilder.output(value)


def _write_constant(rebuilder: Rebuilder, value: Constant) -> ast.expr:
    if not value.is_guarded:
        return rebuilder.source(value.source)
    python = value.value
    if type(python) in _LITERAL_TYPES and python == python:
        return ast.Constant(python)
    return rebuilder.constant(python)


def _write_list(rebuilder: Rebuilder, value: ListValue) -> ast.expr:
    made = rebuilder.assign(value, ast.List([], ast.Load()))
    if value.items:
        place = len(rebuilder.body) - 1
        items = [rebuilder.expression(item) for item in value.items]
        if place == len(rebuilder.body) - 1 and not _mentions(items, made.id):
            rebuilder.body[place].value = ast.List(items, ast.Load())
        else:
            rebuilder.do(_method(made, "extend", ast.List(items, ast.Load())))
    return made


def _mentions(expressions: list[ast.expr], name: str) -> bool:
    return any(
        isinstance(node, ast.Name) and node.id == name
        for expression in expressions
        for node in ast.walk(expression)
    )


def _write_tuple(rebuilder: Rebuilder, value: TupleValue) -> ast.expr:
    items = ast.Tuple([rebuilder.expression(item) for item in value.items], ast.Load())
    if value.cls is tuple:
        return items
    cls = rebuilder.constant(value.cls)
    if hasattr(value.cls, "_make"):
        return _call(ast.Attribute(cls, "_make", ast.Load()), items)
    return _call(cls, items)


def _write_dict(rebuilder: Rebuilder, value: DictValue) -> ast.expr:
    if value.cls is dict:
        empty: ast.expr = ast.Dict([], [])
    elif value.cls is collections.defaultdict:
        factory = rebuilder.expression(value.factory)
        empty = _call(rebuilder.constant(value.cls), factory)
    else:
        empty = _call(rebuilder.constant(value.cls))
    made = rebuilder.assign(value, empty)
    if value.items:
        rebuilder.do(_method(made, "update", rebuilder._dict_display(value)))
    return made


def _write_set(rebuilder: Rebuilder, value: SetValue) -> ast.expr:
    display = rebuilder._set_display(value)
    if value.cls is frozenset:
        display = _call(rebuilder.constant(frozenset), display)
    return rebuilder.assign(value, display)


def _write_slice(rebuilder: Rebuilder, value: SliceValue) -> ast.expr:
    parts = [rebuilder.expression(part) for part in value.parts]
    return _call(rebuilder.constant(slice), *parts)


def _write_held(rebuilder: Rebuilder, value: Value) -> ast.expr:
    return rebuilder.constant(value.as_python())


def _write_object(rebuilder: Rebuilder, value: ObjectValue) -> ast.expr:
    cls = rebuilder.constant(value.cls)
    builtin = c_base(value.cls)
    maker = rebuilder.constant(builtin.__new__)
    if isinstance(value.base, TupleValue):
        items = [rebuilder.expression(item) for item in value.base.items]
        made = rebuilder.assign(value, _call(maker, cls, ast.Tuple(items, ast.Load())))
    else:
        made = rebuilder.assign(value, _call(maker, cls))
        _fill_base(rebuilder, value, made)
    _fill_attributes(rebuilder, value, made)
    return made


def _fill_base(rebuilder: Rebuilder, value: ObjectValue, made) -> None:
    base = value.base
    if isinstance(base, DictValue):
        setter = rebuilder.constant(c_method(value.cls, "__setitem__"))
        for key, item in base.items.items():
            pair = (rebuilder.expression(key.value), rebuilder.expression(item))
            rebuilder.do(_call(setter, made, *pair))
    elif isinstance(base, ListValue):
        items = [rebuilder.expression(item) for item in base.items]
        extend = rebuilder.constant(c_method(value.cls, "extend"))
        rebuilder.do(_call(extend, made, ast.List(items, ast.Load())))
    elif isinstance(base, SetValue):
        items = [rebuilder.expression(key.value) for key in base.items]
        update = rebuilder.constant(c_method(value.cls, "update"))
        rebuilder.do(_call(update, made, ast.List(items, ast.Load())))


def _fill_attributes(rebuilder: Rebuilder, value: ObjectValue, made) -> None:
    present = {name: v for name, v in value.attributes.items() if v is not None}
    if not present:
        return
    if getattr(value.cls, "__dictoffset__", 0):
        names = [ast.Constant(name) for name in present]
        items = [rebuilder.expression(item) for item in present.values()]
        namespace = ast.Attribute(made, "__dict__", ast.Load())
        rebuilder.do(_method(namespace, "update", ast.Dict(names, items)))
        return
    setter = rebuilder.constant(object.__setattr__)
    for name, item in present.items():
        made_item = rebuilder.expression(item)
        rebuilder.do(_call(setter, made, ast.Constant(name), made_item))


def _write_cell(rebuilder: Rebuilder, value: CellValue) -> ast.expr:
    if value.real is not None:
        return rebuilder.source(value.source)
    made = rebuilder.assign(value, _call(rebuilder.constant(types.CellType)))
    if value.content is not None:
        place = ast.Attribute(made, "cell_contents", ast.Store())
        content = rebuilder.expression(value.content)
        rebuilder.body.append(ast.Assign([place], content))
    return made


def _write_function(rebuilder: Rebuilder, value: FunctionValue) -> ast.expr:
    if value.real is not None:
        return rebuilder.constant(value.real)
    cells = [_write_cell_once(rebuilder, cell) for cell in value._closure]
    defaults = [rebuilder.expression(item) for item in value._defaults]
    made = _call(
        rebuilder.constant(types.FunctionType),
        rebuilder.constant(value.code),
        rebuilder.constant(value.namespace),
        ast.Constant(value.name),
        ast.Tuple(defaults, ast.Load()) if defaults else ast.Constant(None),
        ast.Tuple(cells, ast.Load()) if cells else ast.Constant(None),
    )
    made = rebuilder.assign(value, made)
    attributes = dict(value.attributes)
    setter = rebuilder.constant(setattr)
    if value._keyword_defaults:
        names = [ast.Constant(name) for name in value._keyword_defaults]
        items = [rebuilder.expression(v) for v in value._keyword_defaults.values()]
        text = ast.Constant("__kwdefaults__")
        rebuilder.do(_call(setter, made, text, ast.Dict(names, items)))
    text = ast.Constant("__qualname__")
    rebuilder.do(_call(setter, made, text, ast.Constant(value.qualname)))
    for name, item in attributes.items():
        made_item = rebuilder.expression(item)
        rebuilder.do(_call(setter, made, ast.Constant(name), made_item))
    return made


def _write_cell_once(rebuilder: Rebuilder, cell: CellValue) -> ast.expr:
    name = rebuilder._made.get(id(cell))
    return _load(name) if name is not None else _write_cell(rebuilder, cell)


def _write_method(rebuilder: Rebuilder, value: BoundMethod) -> ast.expr:
    parts = (rebuilder.expression(value.function), rebuilder.expression(value.owner))
    return _call(rebuilder.constant(types.MethodType), *parts)


def _write_builtin_method(rebuilder: Rebuilder, value: Method) -> ast.expr:
    return ast.Attribute(rebuilder.expression(value.owner), value.name, ast.Load())


def _write_partial(rebuilder: Rebuilder, value: PartialValue) -> ast.expr:
    args = [rebuilder.expression(item) for item in [value.function, *value.args]]
    made = _call(rebuilder.constant(functools.partial), *args)
    made.keywords = [
        ast.keyword(name, rebuilder.expression(item))
        for name, item in value.kwargs.items()
    ]
    return rebuilder.assign(value, made)


def _write_view(rebuilder: Rebuilder, value: ViewValue) -> ast.expr:
    return _method(rebuilder.expression(value.owner), value.kind)


def _write_instance_dict(rebuilder: Rebuilder, value: InstanceDictValue) -> ast.expr:
    return ast.Attribute(rebuilder.expression(value.owner), "__dict__", ast.Load())


def _write_exception(rebuilder: Rebuilder, value: ExceptionValue) -> ast.expr:
    args = [rebuilder.expression(item) for item in value.args]
    return rebuilder.assign(value, _call(rebuilder.constant(value.cls), *args))


_WRITERS = (
    ((TensorValue, SymbolValue), _write_tensor),
    (Constant, _write_constant),
    (ListValue, _write_list),
    (TupleValue, _write_tuple),
    (DictValue, _write_dict),
    (SetValue, _write_set),
    (SliceValue, _write_slice),
    (ExceptionValue, _write_exception),
    (ObjectValue, _write_object),
    (CellValue, _write_cell_once),
    (FunctionValue, _write_function),
    (BoundMethod, _write_method),
    (Method, _write_builtin_method),
    (PartialValue, _write_partial),
    (ViewValue, _write_view),
    (InstanceDictValue, _write_instance_dict),
    ((ClassValue, BuiltinValue, NamespaceValue, ConstantMethod), _write_held),
)
