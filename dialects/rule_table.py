"""Rules by name: how a pass, an importer or an emitter knows what to do with an op."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Any, TypeVar

from girih.dialects import additions

Rule = TypeVar("Rule")


class MissingRule(KeyError):
    """A table has no rule for a name.

    Attributes:
        name: The name.
    """

    def __init__(self, text: str, name: str):
        super().__init__(text)
        self.name = name

    def __str__(self) -> str:
        return self.args[0]


class RuleMistake(Exception):
    """A rule was called, and what it gives is not what a rule of its kind has to.

    Attributes:
        name: Of the op, or the operator, that the rule is for.
    """

    def __init__(self, text: str, name: str):
        super().__init__(text)
        self.name = name


FOREIGN: dict[str, Any] = {}
"""Rules from outside of girih, each by what it is: keys of caches depend on them."""


def note(what: str, rule: Any) -> None:
    """Notes a rule if it is not girih's own."""
    if additions.is_foreign(rule):
        additions.put(FOREIGN, what, rule, rule)


def blame(traceback: TracebackType | None) -> str:
    """Returns what the innermost rule from outside of girih in a traceback is, or "".

    It says where the rule is defined, too.
    """
    codes = {getattr(rule, "__code__", None): what for what, rule in FOREIGN.items()}
    found = ""
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if code in codes:
            found = f"{codes[code]}, defined in {FOREIGN[codes[code]].__module__}"
        traceback = traceback.tb_next
    return found


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
        text = f"there is no {self._described(name)}"
        if self._decorator:
            text += f"; {self._decorator.format(name=name)} adds one"
        raise MissingRule(text, name)

    def _described(self, name: str) -> str:
        """What the rule for a name is; ops of ``graph`` have none with a dot."""
        what = self._what.removesuffix("graph.") if "." in name else self._what
        what = what.removesuffix("aten.") if "::" in name else what
        return f"{what}{name}"

    @classmethod
    def several(
        cls, what: str, count: int, decorator: str = ""
    ) -> tuple[RuleTable, ...]:
        """Tables of which one alone has a rule for a name."""
        tables = tuple(cls(what, decorator) for _ in range(count))
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
        if is_taken or (name in self and not is_again(self[name], rule)):
            raise ValueError(f"second {self._described(name)}")
        additions.put(self, name, rule, rule)
        note(self._described(name), rule)


def is_again(known: Any, rule: Any) -> bool:
    """Whether a function is defined again at the top of its module."""
    name = getattr(rule, "__qualname__", "<unknown>")
    same = name == getattr(known, "__qualname__", None)
    return same and "<" not in name and known.__module__ == rule.__module__
