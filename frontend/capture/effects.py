"""Changes to objects that existed before the call.

While tracing, nothing outside is changed: reads see the traced state, and the changes
are replayed after the graph ran, in the order in which the objects were first changed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from girih.frontend.capture.values.base import Value
from girih.frontend.capture.values.set import SetValue


@dataclass
class ObjectChange:
    """Attributes of an object that were set or deleted.

    Attributes:
        owner: The object.
        previous: What each attribute was before; a sentinel where there was none.
        added: Names that were set where they were missing, in this order: a
            ``__dict__`` has them at its end.
        through: For each attribute, ``"object"`` (``object.__setattr__``) or
            ``"setattr"``.
    """

    owner: Value
    previous: dict[str, object] = field(default_factory=dict)
    added: dict[str, None] = field(default_factory=dict)
    through: dict[str, str] = field(default_factory=dict)

    def note(self, name: str, value: Value | None, previous: object) -> None:
        """Notes that an attribute is about to be set, or deleted for None."""
        self.previous.setdefault(name, previous)
        if value is None:
            self.added.pop(name, None)
        elif not isinstance(previous, Value):
            self.added[name] = None

    def is_moved(self, name: str) -> bool:
        """Whether the attribute was deleted, and set again later."""
        return name in self.added and isinstance(self.previous[name], Value)

    def names(self) -> list[str]:
        """The attributes that were changed, those at the end of ``__dict__`` last."""
        stayed = [name for name in self.previous if name not in self.added]
        return [*stayed, *self.added]


class Effects:
    """The log of changes.

    Attributes:
        watch: Called with each value that is about to be changed, or None.
        gives_up: Called with each value from outside that an object from outside is
            about to lose, or a container whose items it is about to lose.
        moved_globals: Those that were deleted, and set again later.
    """

    def __init__(self):
        self.watch: Callable[[object], None] | None = None
        self.gives_up: Callable[[object], None] = lambda value: None
        self.objects: dict[int, ObjectChange] = {}
        self.containers: dict[int, Value] = {}
        self.cells: dict[int, Value] = {}
        self.globals: dict[tuple[int, str], tuple[dict, Value | None]] = {}
        self.moved_globals: set[tuple[int, str]] = set()
        self.tracebacks: dict[int, Value] = {}
        self._snapshots: dict[int, list] = {}

    def observed(self, call: Callable[[], object]) -> tuple[object, list]:
        """What a call gives, and the values that it has changed."""
        changed, outer = [], self.watch
        self.watch = changed.append
        try:
            return call(), changed
        finally:
            self.watch = outer
            for value in changed:
                self._tell(value)

    def _tell(self, changed: object) -> None:
        if self.watch is not None:
            self.watch(changed)

    def set_attr(
        self, owner, name: str, value: Value | None, previous, through: str = "object"
    ) -> None:
        """Sets a traced attribute, or deletes it for None, and notes that."""
        self._tell(owner)
        if owner.real is not None:
            self.gives_up(previous)
            change = self.objects.setdefault(id(owner), ObjectChange(owner))
            change.note(name, value, previous)
            change.through[name] = through
        if not isinstance(previous, Value):
            owner.attributes.pop(name, None)  # what is added comes last
        owner.attributes[name] = value

    def added_attributes(self, owner) -> list[str]:
        """Attributes at the end of an object's ``__dict__``, in order."""
        change = self.objects.get(id(owner))
        return [] if change is None else list(change.added)

    def change(self, container) -> None:
        """Notes that a list, dict or set is about to be changed."""
        self._tell(container)
        if container.source is None:
            return
        self.gives_up(container)
        if id(container) in self.containers:
            return
        self.containers[id(container)] = container
        self._snapshots[id(container)] = contents(container)

    def append(self, container) -> None:
        """Notes that something is appended to a list that was not read."""
        self._tell(container)
        self.containers[id(container)] = container
        self._snapshots[id(container)] = []  # see ``before`` for one that is read later

    def set_cell(self, cell) -> None:
        """Notes that a closure cell is about to get another content."""
        self._tell(cell)
        if cell.real is not None:
            self.gives_up(cell.content)
            self.cells[id(cell)] = cell

    def set_global(self, namespace: dict, name: str, value: Value | None) -> None:
        """Notes that a global was set, or deleted for None."""
        self._tell(None)
        key = (id(namespace), name)
        if value is not None and self.globals.get(key, (None, value))[1] is None:
            del self.globals[key]  # it was deleted: now it comes last
            self.moved_globals.add(key)
        self.globals[key] = (namespace, value)

    def extend_traceback(self, error) -> None:
        """Notes that an exception went through a traced frame."""
        if error.real is not None:
            self.tracebacks[id(error)] = error

    def changed_attributes(self):
        """Yields (owner, name, value or None, through) for what did change."""
        for change in self.objects.values():
            owner = change.owner
            for name in change.names():
                previous, value = change.previous[name], owner.attributes.get(name)
                if value is None and not isinstance(previous, Value):
                    continue  # made and deleted
                is_moved = change.is_moved(name)
                if is_moved:
                    yield owner, name, None, change.through[name]
                if is_moved or not _is_same(previous, value):
                    yield owner, name, value, change.through[name]

    def before(self, container) -> list[Value]:
        """What was in a container: its items, or keys and values in turn."""
        if getattr(container, "original", None):
            return container.original
        return self._snapshots[id(container)]

    def changed_containers(self):
        """The containers whose content did change."""
        for container in self.containers.values():
            if getattr(container, "is_unread", False):
                yield container
                continue
            before, after = self.before(container), contents(container)
            same = len(before) == len(after) and all(map(_is_same, before, after))
            if not same:
                yield container

    def __bool__(self) -> bool:
        return bool(self.cells or self.globals or self.tracebacks) or any(
            True
            for changes in (self.changed_attributes(), self.changed_containers())
            for _ in changes
        )


def contents(container) -> list:
    """What a container holds, in order."""
    if isinstance(container, SetValue):
        return container.members()
    items = container.items
    if isinstance(items, list):
        return list(items)
    return [part for key, v in items.items() for part in (key.value, v)]


def _is_same(previous, value) -> bool:
    if previous is value:
        return True
    if not isinstance(previous, Value) or not isinstance(value, Value):
        return False
    first, second = previous.identity(), value.identity()
    return type(first) is type(second) and first is second
