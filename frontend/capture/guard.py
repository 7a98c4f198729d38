"""Guards: what has to hold at a call for a cache entry to be used.

A guard is data: a source, the kind of check and its operand. It prints as Python. All
the guards of an entry become one tree for the C side (``_guards.c``), which fetches
the graph's inputs while it checks them.
"""

from __future__ import annotations

import reprlib
import types
from collections import deque
from dataclasses import dataclass
from typing import Any

from girih.frontend.capture import _frame
from girih.frontend.capture.source import ACCESS, Source, global_label, name_of
from girih.frontend.capture.values.lookup import has_python_layer

# Mirrors enum CheckKind in _guards.c; the text is how the guard reads as Python.
CHECKS = {
    "is": (0, "{source} is {operand}"),
    "type": (1, "type({source}) is {operand}"),
    "equals": (2, "{source} == {operand}"),
    "length": (3, "len({source}) == {operand}"),
    "contains": (4, "{operand} in {source}"),
    "absent": (5, "{operand} not in {source}"),
    "keys": (6, "list({source}) == {operand}"),
    "code": (7, "{source}.__code__ is {operand}"),
    "class": (8, "these attributes of {source} are unchanged: {operand}"),
    "call": (9, "{operand}({source})"),
    "empty_cell": (10, "{source} is an empty cell"),
}

# How the globals of a module read: no program holds this dictionary in a variable.
_OF_GLOBALS = {
    "contains": "the module {module} has a global {operand}",
    "absent": "the module {module} has no global {operand}",
}

# Checks between two values.
RELATIONS = {
    "same_as": "{source} is {operand}",
    "distinct": "{source} is not {operand}",
}

# Nothing is checked: that the walk finds a value there is all.
EXISTS = "exists"

# Checks of many values, the operand of the guard, of which the source is one.
DISTINCT_SET = "all_distinct"


@dataclass(frozen=True)
class Guard:
    """One condition.

    Attributes:
        source: The value that is checked.
        kind: A key of ``CHECKS``.
        operand: What it is compared with.
    """

    source: Source
    kind: str
    operand: Any

    def __str__(self) -> str:
        operand = self.operand
        if self.kind == DISTINCT_SET:
            names = reprlib.repr([str(source) for source in operand])
            return f"{len(operand)} objects are distinct: {names}"
        if self.kind != "class" and not isinstance(operand, Source):
            operand = operand_text(operand)
        if self.kind == EXISTS:
            return f"{self.source} exists"
        module = self.source.module_of_globals()
        if module is not None and self.kind in _OF_GLOBALS:
            return _OF_GLOBALS[self.kind].format(module=module, operand=operand)
        text = RELATIONS.get(self.kind) or CHECKS[self.kind][1]
        return text.format(source=self.source, operand=operand)


_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = _SHORT.maxlong = 80


def operand_text(operand: Any) -> str:
    """How a value reads in a message: by its name, or short."""
    if isinstance(operand, types.ModuleType):
        return f"<module {name_of(operand)}>"
    if isinstance(operand, types.CodeType):
        return f"<code of {operand.co_qualname}, line {operand.co_firstlineno}>"
    if isinstance(operand, dict) and "__builtins__" in operand:
        return global_label(operand)
    containers = set, frozenset, list, dict, deque
    if isinstance(operand, containers) and has_python_layer(type(operand)):
        return object.__repr__(operand)  # their own one runs the program's __iter__
    return name_of(operand) or _SHORT.repr(operand)


# A source may have several of these, one for each operand.
_MANY_OPERANDS = {"contains", "absent", "call", "same_as", "distinct"}


class GuardSet:
    """The guards of one capture, in the order in which they were needed."""

    def __init__(self):
        self._guards: dict[tuple, Guard] = {}

    def add(self, source: Source, kind: str, operand: Any = None) -> None:
        """Notes a guard, once."""
        known = kind in CHECKS or kind in RELATIONS or kind in (DISTINCT_SET, EXISTS)
        assert known, f"girih bug: no check {kind!r}"
        if kind in ("is", "type") and source.access == "constant":
            return  # the entry holds the object itself
        extra = None
        if kind in _MANY_OPERANDS:
            extra = operand if isinstance(operand, (str, int)) else id(operand)
        self._guards.setdefault((source, kind, extra), Guard(source, kind, operand))

    def __iter__(self):
        """The guards; what is checked is there."""
        guards = self._guards.values()
        checked = {guard.source for guard in guards if guard.kind != EXISTS}
        return iter([g for g in guards if g.kind != EXISTS or g.source not in checked])

    def __len__(self) -> int:
        return sum(1 for _ in self)


# Accesses whose key is a number of the C side.
_BY_PLACE = ("local", "index", "closure", "key_at", "value_at")


class _Node:
    """A source in the tree that is being built."""

    def __init__(self, source: Source):
        self.source = source
        self.slot = -1
        self.checks: list[tuple] = []
        self.children: list[_Node] = []

    def spec(self) -> tuple:
        """The tuple that ``read_node`` in ``_guards.c`` reads."""
        key = self.source.key
        index = key if self.source.access in _BY_PLACE else 0
        children = tuple(child.spec() for child in self.children)
        access = ACCESS[self.source.access]
        return (access, key, index, self.slot, tuple(self.checks), children)


class GuardTree:
    """Builds the tree for the C side.

    Args:
        guards: The guards.
        slots: The sources whose values the compiled code takes, in order. Values that
            are only compared with each other are appended.
    """

    def __init__(self, guards: GuardSet, slots: list[Source]):
        self.records = list(guards)
        self._nodes: dict[Source, _Node] = {}
        self._roots: list[_Node] = []
        self._slots: dict[Source, int] = {}
        self._relations: list[tuple] = []
        self._sets: list[tuple] = []
        for source in slots:
            self._slot(source)
        for record, guard in enumerate(self.records):
            self._add(record, guard)

    @property
    def slots(self) -> list[Source]:
        """The source of each slot."""
        return list(self._slots)

    def _slot(self, source: Source) -> int:
        if source not in self._slots:
            self._slots[source] = self._node(source).slot = len(self._slots)
        return self._slots[source]

    def _node(self, source: Source) -> _Node:
        node = self._nodes.get(source)
        if node is None:
            node = self._nodes[source] = _Node(source)
            if source.base is None:
                self._roots.append(node)
            else:
                self._node(source.base).children.append(node)
        return node

    def _add(self, record: int, guard: Guard) -> None:
        if guard.kind in RELATIONS:
            pair = (self._slot(guard.source), self._slot(guard.operand))
            self._relations.append((*pair, guard.kind == "same_as", record))
            return
        if guard.kind == DISTINCT_SET:
            slots = tuple(self._slot(source) for source in guard.operand)
            self._sets.append((slots, record))
            return
        if guard.kind == EXISTS:
            self._node(guard.source)
            return
        number, operand = 0, guard.operand
        if guard.kind == "length":
            number, operand = operand, None
        elif guard.kind == "class":
            operand = operand.spec()
        check = (CHECKS[guard.kind][0], record, operand, number)
        self._node(guard.source).checks.append(check)

    def build(self, tensor_count, tensor_checks, state_check, shape_check):
        """The C object.

        Args:
            tensor_count: That many slots, the first ones, are tensors.
            tensor_checks: A ``tensor_guard.TensorChecks``, or None.
            state_check: A function without arguments, or None.
            shape_check: A function of all slots, or None.
        """
        roots = tuple(node.spec() for node in self._roots)
        counts = (len(self._slots), tensor_count)
        together = tuple(self._relations), tuple(self._sets)
        checks = tensor_checks or (None, None)
        self.tensor_count, self.tensor_check = tensor_count, checks[0]
        self.state_check, self.shape_check = state_check, shape_check
        return _frame.Guards(
            roots, *together, *counts, *checks, state_check, shape_check
        )
