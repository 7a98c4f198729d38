"""Rules by name: how a pass, an importer or an emitter knows what to do with an op."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

Rule = TypeVar("Rule")


class MissingRule(KeyError):
    """A table has no rule for a name."""

    def __str__(self) -> str:
        return self.args[0]


class RuleTable(dict[str, Any]):
    """One rule for each name.

    It is read as a dict. ``table.registering(*names)`` is a decorator that adds a rule;
    a second one for a name is an error, unless it is the same function defined again,
    as in a cell of a notebook, which replaces the first one.

    Args:
        what: What a rule is, for messages: ``derivative of the op graph.``.
        decorator: What adds a rule, with ``{name!r}`` where the name stands.
    """

    def __init__(self, what: str, decorator: str = ""):
        super().__init__()
        self._decorator = decorator
        self._what = what
        self._others: tuple[RuleTable, ...] = ()

    def __missing__(self, name: str) -> Any:
        text = f"there is no {self._what}{name}"
        if self._decorator:
            text += f"; {self._decorator.format(name=name)} adds one"
        raise MissingRule(text)

    @classmethod
    def several(cls, what: str, count: int) -> tuple[RuleTable, ...]:
        """Tables of which one alone has a rule for a name."""
        tables = tuple(cls(what) for _ in range(count))
        for table in tables:
            table._others = tuple(other for other in tables if other is not table)
        return tables

    def registering(self, *names: str) -> Callable[[Rule], Rule]:
        """A decorator that adds a function as the rule for each name.

        Raises:
            ValueError: A name has a rule already.
        """

        def register(rule: Rule) -> Rule:
            for name in names:
                self.add(name, rule)
            return rule

        return register

    def add(self, name: str, rule: Any) -> None:
        """Adds a rule, as ``registering`` does."""
        is_taken = any(name in other for other in self._others)
        if is_taken or (name in self and not _is_again(self[name], rule)):
            raise ValueError(f"second {self._what}{name}")
        self[name] = rule


def _is_again(known: Any, rule: Any) -> bool:
    """Whether a function is defined again at the top of its module."""
    name = getattr(rule, "__qualname__", "<unknown>")
    same = name == getattr(known, "__qualname__", None)
    return same and "<" not in name and known.__module__ == rule.__module__
