"""The code that surrounds the graph: it makes the Python result and replays changes.

It is a Python function, made as an AST: its parameters are the slots that the guards
fetched; it calls the graph with the inputs, changes what the program changed, and
returns what the program returned. ``ast.unparse`` prints it.
"""

from __future__ import annotations

import ast
import types
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor

from girih.errors import unsupported
from girih.frontend.capture import _frame
from girih.frontend.capture.call_arguments import node_of
from girih.frontend.capture.rebuilding.code import (
    call,
    inlined,
    list_of,
    load,
    method,
    tuple_of,
)
from girih.frontend.capture.rebuilding.containers import replay_dict, replay_set
from girih.frontend.capture.rebuilding.objects import fill_part
from girih.frontend.capture.rebuilding.tracebacks import with_traceback
from girih.frontend.capture.run_time_errors import raised_in_blocks
from girih.frontend.capture.source import Source
from girih.frontend.capture.values.base import Value
from girih.frontend.capture.values.constant import Constant
from girih.frontend.capture.values.function import CellValue
from girih.frontend.capture.values.sequence import ListValue
from girih.frontend.capture.values.set import SetValue


def _check_real(value: Any) -> None:
    """Raises where what the code would hold has tensors without data in it.

    Such tensors belong to the capture; the program must never see one.
    """
    if isinstance(value, (list, tuple, set, frozenset)):
        items: Any = value
    elif isinstance(value, dict):
        items = value.values()
    elif isinstance(value, torch._C._SDPAParams):
        items = (value.query, value.key, value.value)
    elif isinstance(value, (type, types.ModuleType)):
        items = ()
    else:
        held = getattr(value, "__dict__", {}).values()
        items = [item for item in held if isinstance(item, FakeTensor)]
    if isinstance(value, FakeTensor):
        unsupported(
            kind="tensor of the capture that would leave it",
            context=repr(value),
            explanation=(
                "An operation returned the tensor inside another object. A graph "
                "returns only tensors, and tuples, lists and dictionaries of them."
            ),
            hints=("Return the tensor in a tuple, a list or a dictionary.",),
        )
    for item in items:
        if item is not value:
            _check_real(item)


class Rebuilder:
    """Collects what the surrounding code needs, and writes it.

    Attributes:
        outputs: Nodes whose values the graph has to return, in order.
        slots: Sources of the parameters: the graph's inputs, then others.
        constants: Objects that the code holds, by name.
        body: The statements after the call of the graph.
        pending: Ids of the containers from outside whose changes are still to come.
        holds_watched: Whether a value holds an object whose death runs code.
        inputs: What the graph is called with.
        sizes: Writes symbolic sizes; None where there are none.
    """

    def __init__(self, graph):
        self.outputs: list[Any] = []
        self.slots: dict[Source, int] = {}
        self.constants: dict[str, Any] = {}
        self.body: list[ast.stmt] = []
        self.pending: set[int] = set()
        self.holds_watched = graph.tracer.finalizers.holds
        self._again: Any = None
        self._raised: ast.expr | None = None
        self._made: dict[int, str] = {}
        self._alive: list[Value] = []
        self._by_constant: dict[int, str] = {}
        # The guards look at all of these, also at those that the entry holds itself.
        slots = [(given, self._slot(given.source)) for given in graph.tensors]
        passed = {id(given) for given in graph.passed}
        self.inputs = [slot for given, slot in slots if id(given) in passed]
        self.sizes = graph.evaluator.size_writer(graph, self)
        if self.sizes is not None:
            self.sizes.bind_numbers()  # which may be computed from sizes
        self.inputs += [self.expression(given.number) for given in graph.numbers]

    def release(self) -> None:
        """Lets go of all values; what writes the sizes refers back, in a cycle."""
        self.__dict__.clear()

    @property
    def takes_slots(self) -> bool:
        """Whether the graph takes the slots as they are."""
        names = [getattr(given, "id", None) for given in self.inputs]
        return names == [f"s{index}" for index in self.slots.values()]

    # Expressions

    def expression(self, value: Value) -> ast.expr:
        """An expression for a traced value."""
        made = self.made(value)
        if made is not None:
            return made
        if value.source is not None and not isinstance(value, Constant):
            return self.source(value.source)
        from girih.frontend.capture.rebuilding.families import writer_of

        writer = writer_of(value)
        if writer is not None:
            return writer(self, value)
        unsupported(
            kind="a value that can't be rebuilt",
            context=repr(value),
            explanation=(
                "A result or an effect of the graph holds an object that girih "
                "cannot make again."
            ),
        )

    def source(self, source: Source) -> ast.expr:
        """The value of a source: a parameter, or an object that the code holds."""
        if source.access == "constant":
            return self.constant(source.key)
        return self._slot(source)

    def _slot(self, source: Source) -> ast.expr:
        index = self.slots.setdefault(source, len(self.slots))
        return load(f"s{index}")

    def constant(self, value: Any) -> ast.expr:
        """An object that the code holds."""
        _check_real(value)
        name = self._by_constant.get(id(value))
        if name is None:
            name = self._by_constant[id(value)] = f"c{len(self.constants)}"
            self.constants[name] = value
        return load(name)

    def output(self, value: Value) -> ast.expr:
        """A value that the graph computes."""
        node = node_of(value)
        if node not in self.outputs:
            self.outputs.append(node)
        index = ast.Constant(self.outputs.index(node))
        return ast.Subscript(load("out"), index, ast.Load())

    def made(self, value: Value) -> ast.expr | None:
        """The name of an object that was made already."""
        name = self._made.get(id(value))
        return None if name is None else load(name)

    def assign(self, value: Value, expression: ast.expr) -> ast.expr:
        """Gives a new object a name, so that it is made once.

        Where one of its parts holds the object itself, it has a name already: making
        the part made the object.
        """
        if id(value) in self._made:
            return load(self._made[id(value)])
        name = f"v{len(self._made)}"
        self._made[id(value)] = name
        self._alive.append(value)
        target = ast.Name(name, ast.Store())
        self.body.append(ast.Assign([target], expression))
        return load(name)

    def do(self, expression: ast.expr) -> None:
        """A statement."""
        self.body.append(ast.Expr(expression))

    # Changes to objects that existed before

    def replay(self, effects) -> None:
        """Writes the changes of the log."""
        self.pending = {id(container) for container in effects.changed_containers()}
        for owner, name, value, through in effects.changed_attributes():
            self._replay_attribute(owner, name, value, through)
        for container in effects.changed_containers():
            self._replay_container(container, effects.before(container))
            self.pending.discard(id(container))
        for cell in effects.cells.values():
            self._replay_cell(cell)
        for key, (namespace, value) in effects.globals.items():
            is_moved = key in effects.moved_globals
            self._replay_global(namespace, key[1], value, is_moved)
        for error in effects.tracebacks.values():
            entries = self.constant(tuple(error.entries))
            self.do(
                call(self.constant(with_traceback), self.expression(error), entries)
            )

    def _replay_global(self, namespace: dict, name: str, value, is_moved) -> None:
        held, text = self.constant(namespace), ast.Constant(name)
        if (value is None or is_moved) and name in namespace:
            self.do(method(held, "__delitem__", text))
        if value is not None:
            self.do(method(held, "__setitem__", text, self.expression(value)))

    def _replay_attribute(self, owner, name: str, value, through: str) -> None:
        place = object if through == "object" else None
        target, text = self.expression(owner), ast.Constant(name)
        if value is None:
            function = object.__delattr__ if place else delattr
            self.do(call(self.constant(function), target, text))
        else:
            function = object.__setattr__ if place else setattr
            made = self.expression(value)
            self.do(call(self.constant(function), target, text, made))

    def _replay_container(self, container, before: list[Value]) -> None:
        target = self.source(container.source)
        if isinstance(container, SetValue):
            replay_set(self, container, target)
        elif getattr(container, "is_unread", False):
            for item in container.added:
                self.do(method(target, "append", self.expression(item)))
        elif container.is_part:
            fill_part(self, container, container.cls, target, clear=True)
        elif isinstance(container, ListValue):
            items = [self.expression(item) for item in container.items]
            everything = ast.Slice(None, None, None)
            place = ast.Subscript(target, everything, ast.Store())
            self.body.append(ast.Assign([place], list_of(items)))
        else:
            replay_dict(self, container, target, before)

    def _replay_cell(self, cell: CellValue) -> None:
        place = ast.Attribute(self.source(cell.source), "cell_contents", ast.Store())
        if cell.content is None:
            place.ctx = ast.Del()
            self.body.append(ast.Delete([place]))
        else:
            made = self.expression(cell.content)
            self.body.append(ast.Assign([place], made))

    # torch's state

    def set_state(self, state) -> None:
        """Switches to the state in which the segment ends; the graph left it alone."""
        set_grad = self.constant(torch._C._set_grad_enabled)
        grad = state.grad_at_start
        for region in state.open_regions:
            if region.grad_before != grad:  # what leaving the region goes back to
                grad = region.grad_before
                self.do(call(set_grad, ast.Constant(grad)))
            self.do(method(self.expression(region.manager), "__enter__"))
        if state.open_regions or state.is_grad_changed:
            self.do(call(set_grad, ast.Constant(state.grad_at_end)))
        for switch, values in state.switched:
            made = [self.constant(value) for value in values]
            self.do(call(self.constant(switch.write), *made))

    # The function

    def run_again(self, again) -> None:
        """Where the graph fails, the call runs as it was if ``again(error)`` holds."""
        self._again = again

    def raise_at(self, place: tuple[int, int] | None, roots) -> None:
        """Where the graph fails, the frame is restored and the error raised in it.

        Args:
            place: As in ``Blocks``.
            roots: Sources of the function and of its arguments.
        """
        count = range(len(roots.names))
        self._raised = call(
            self.constant(raised_in_blocks),
            load("error"),
            self.source(roots.function),
            tuple_of([self.source(roots.local(index)) for index in count]),
            self.constant(place),
        )

    def _call_of_graph(self) -> ast.stmt:
        made = call(load("graph"), *self.inputs)
        out: ast.stmt = ast.Assign([ast.Name("out", ast.Store())], made)
        if self._again is None and self._raised is None:
            return out
        # An interrupt leaves blocks, too.
        kind = self.constant(Exception if self._raised is None else BaseException)
        handler = ast.ExceptHandler(kind, "error", self._after_failure())
        return ast.Try([out], [handler], [], [])

    def _after_failure(self) -> list[ast.stmt]:
        statements: list[ast.stmt] = []
        if self._again is not None:
            repeats = call(self.constant(self._again), load("error"))
            plain = ast.Return(self.constant(_frame.AGAIN))
            statements.append(ast.If(repeats, [plain], []))
        raised = self._raised
        statements.append(ast.Raise() if raised is None else ast.Return(raised))
        return statements

    def function(self, graph, result: ast.expr, has_graph: bool):
        """The surrounding function.

        Args:
            graph: The compiled graph.
            result: The expression that is returned.
            has_graph: Whether there is anything to compute.
        """
        statements = list(self.body)
        if has_graph:
            statements.insert(0, self._call_of_graph())
        statements.append(ast.Return(inlined(statements, result)))
        parameters = [ast.arg(f"s{i}") for i in range(len(self.slots))]
        arguments = ast.arguments([], parameters, None, [], [], None, [])
        definition = ast.FunctionDef("rebuilt", arguments, statements, [])
        module = ast.fix_missing_locations(ast.Module([definition], []))
        namespace = {"graph": graph, **self.constants}
        exec(compile(module, "<girih>", "exec"), namespace)
        return namespace["rebuilt"], ast.unparse(definition)
