"""Which sizes and numbers from outside may be others at the next call.

With ``dynamic=None`` all are fixed at first; what differed between calls becomes
symbolic when the function is captured again. torch's marks on tensors are honoured.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from types import FunctionType
from typing import TYPE_CHECKING, Any

import torch

from girih.errors import UnsupportedError, unsupported
from girih.frontend.capture.dynamic_log import DynamicLog
from girih.frontend.capture.failures import COMPUTED, Failure
from girih.frontend.capture.named_sources import is_named, names_of_forward, texts_of
from girih.frontend.capture.numbers import is_input, is_small
from girih.frontend.capture.source import Roots, Source
from girih.frontend.capture.values.constant import limited_value

if TYPE_CHECKING:
    from girih.frontend.capture.guard import Guard
    from girih.frontend.capture.shapes_spec import ShapesSpec

# Accesses on the way from an argument to a number that the caller gave with it.
_CONTAINERS = ("local", "index", "item", "dict_item")

# Levels of such containers in which a plain call looks for tensors and numbers.
_MOST_NESTED = 4

# Options in an optimizer's ``param_groups`` that are others at most calls: schedulers
# of the learning rate write the first three, and programs the last one.
_SCHEDULED = frozenset(("lr", "momentum", "betas", "weight_decay"))

# Entries besides those for sizes that have to be known: that of the first call, whose
# sizes were not known to vary, and the one with symbols.
_OTHER_ENTRIES = 2

MARK_VIOLATED = "a marked size has to be fixed"
TOO_MANY_VALUES = "a value that is another at each call"
SPEC_VIOLATED = "a call that shapes_spec does not allow"


@dataclass(frozen=True)
class DynamicDim:
    """A dim that gets a symbolic size.

    Attributes:
        is_marked: The program says so: it is an error if the size has to be fixed.
        least: Its smallest size, where the mark says that.
        most: Its largest size, where the mark says that.
    """

    is_marked: bool = False
    least: int | None = None
    most: int | None = None


class Sizes:
    """What one compiled function knows about the sizes and numbers that it is given.

    Args:
        dynamic: As for ``girih.compile``.
        most_values: How many values of one number or string get entries of their own.
            None: as many as there are.
        spec: What the program says of arguments.
        most_together: After how many entries what had two values gets no more of them,
            since values of several numbers multiply. None: it does not matter.

    Attributes:
        entries: How many the function has.
    """

    def __init__(
        self,
        dynamic: bool | None,
        most_values: int | None = None,
        spec: ShapesSpec | None = None,
        most_together: int | None = None,
    ):
        self.dynamic = dynamic
        self.entries = 0
        self._spec = spec
        self._most_values = most_values
        self._most_together = most_together
        self._values: dict[str, set] = {}
        self._asked: set[str] = set()
        self._limited: set[tuple[str, str]] = set()
        self._shapes: dict[str, tuple[int, ...]] = {}
        self._varying_dims: dict[str, set[int]] = {}
        self._known_dims: dict[str, set[int]] = {}
        self._known_shapes: dict[str, set[tuple[int, ...]]] = {}
        self._numbers: dict[str, int | float] = {}
        self._learned: list[tuple[Source, Any]] = []
        self._varying: set[str] = set()
        self._fixed: set[tuple[str, int]] = set()
        self._small: set[str] = set()
        self._sizes: set[str] = set()
        self._differed: dict[str, tuple] = {}
        self._named: set[str] = set()
        self._forward: tuple[str, ...] = ()
        self.log = DynamicLog()

    # Sizes

    def dynamic_dims(
        self, tensor: torch.Tensor, source: Source
    ) -> dict[int, DynamicDim]:
        """The dims of an input that get a symbolic size; 0 and 1 never do."""
        if self._spec is not None:
            given = self._spec.dims(tensor, source).items()
            return {d: DynamicDim(must) for d, must in given if tensor.shape[d] > 1}
        dims = dict.fromkeys(self._varying_of(tensor, source), DynamicDim())
        dims |= dict.fromkeys(self._named_dims(tensor, source), DynamicDim())
        if getattr(tensor, "_has_dynamo_dim_marking", False) or hasattr(
            tensor, "_dynamo_dynamic_indices"
        ):
            dims = _marked(tensor, dims)
        known = self._known_of(tensor, source)
        return {
            dim: how
            for dim, how in sorted(dims.items())
            if tensor.shape[dim] > 1 and dim not in known
        }

    def _named_dims(self, tensor: torch.Tensor, source: Source) -> list[int]:
        """The dims that torch's switches name, which ``dynamic=False`` leaves so."""
        texts, key = texts_of(str(source), self._forward), _key(source)
        found = [d for d, size in enumerate(tensor.shape) if is_named(texts, size, d)]
        self._named.update(_size_key(key, dim) for dim in found)
        return found

    def may_know(
        self, tensor: torch.Tensor, source: Source, dims: Iterable[int]
    ) -> bool:
        """Whether the program leaves it open if sizes are symbolic."""
        if self._spec is not None or self._are_known_spent(_key(source)):
            return False
        given = self.dynamic_dims(tensor, source)
        return not any(given[dim].is_marked for dim in dims if dim in given)

    def know(self, source: Source, dims: Iterable[int]) -> None:
        """An operation can't be evaluated with these sizes as symbols."""
        self._known_dims.setdefault(_key(source), set()).update(dims)

    def _known_of(self, tensor: torch.Tensor, source: Source) -> Iterable[int]:
        """The dims whose sizes have to be known, unless there were too many of them."""
        key, shape = _key(source), tuple(tensor.shape)
        known = self._known_dims.get(key, ())
        if known and shape not in self._known_shapes.get(key, ()):
            if self._are_known_spent(key):
                return ()
            self._known_shapes.setdefault(key, set()).add(shape)
        return known

    def _are_known_spent(self, key: str) -> bool:
        """Whether the entries that are left are one: for all sizes, with a break."""
        most, seen = self._most_values, self._known_shapes.get(key, ())
        return most is not None and len(seen) >= most - _OTHER_ENTRIES

    def _varying_of(self, tensor: torch.Tensor, source: Source) -> Iterable[int]:
        if self.dynamic is not None:
            return range(tensor.ndim) if self.dynamic else ()
        key, shape = _key(source), tuple(tensor.shape)
        varying = self._varying_dims.setdefault(key, set())
        seen = self._shapes.get(key)
        if seen is not None and len(seen) == len(shape):
            for dim, size in enumerate(shape):
                if size != seen[dim]:
                    varying.add(dim)
                    self._differed[_size_key(key, dim)] = (seen[dim], size)
        self._shapes[key] = shape
        return [dim for dim in varying if dim < tensor.ndim]

    def small_dims(self, tensor: torch.Tensor, source: Source) -> list[int]:
        """The dims that varied, and are fixed now since their size is 0 or 1."""
        dims = self._varying_dims.get(_key(source), ())
        return [d for d in sorted(dims) if d < tensor.ndim and tensor.shape[d] < 2]

    def reason(self, source: Source, dim: int | None = None) -> str:
        """Why a size, or a number, is symbolic."""
        key = _key(source) if dim is None else _size_key(_key(source), dim)
        if key in self._differed:
            before, now = self._differed[key]
            return f"it was {before} at an earlier call, and then {now}"
        if key in self._named:
            return "torch.compiler.config names it"
        if self.dynamic:
            return "dynamic=True"
        if self._spec is not None:
            return "shapes_spec says so"
        if dim is None:
            return "schedules change this option of an optimizer"
        return "the program marks it"

    def observe(self, function: FunctionType, arguments: tuple) -> None:
        """Notes the sizes and numbers of a call that runs as plain Python.

        A first call that is captured notes them as it goes. Both find what differs in
        the next one.
        """
        roots = Roots(function.__code__.co_varnames)
        for index, value in enumerate(arguments):
            self._observe(value, roots.local(index), _MOST_NESTED)

    def _observe(self, value: Any, source: Source, depth: int) -> None:
        if isinstance(value, torch.Tensor):
            self._varying_of(value, source)
        elif type(value) in (int, float):
            self._numbers[_key(source)] = value
        elif type(value) in (list, tuple) and depth:
            for index, item in enumerate(value):
                self._observe(item, source.index(index), depth - 1)
        elif type(value) is dict and depth:
            for key, item in value.items():
                self._observe(item, source.dict_item(key), depth - 1)

    # Numbers

    def varies(self, number: int | float, source: Source) -> bool:
        """Whether a number is an input of the graph, and no constant."""
        if self._spec is not None:
            return self._spec.varies(number, source) and is_input(number)
        named = self._is_named_number(number, source)
        if self.dynamic is False and not named:
            return False
        self._take_in()
        is_scheduled = _is_scheduled(source)
        if not (self.dynamic or self._numbers or is_scheduled or named):
            return False
        key = _key(source)
        seen = self._numbers.get(key)
        if seen is not None and type(seen) is type(number) and seen != number:
            self._varying.add(key)
            self._differed[key] = (seen, number)
            if is_small(seen) != is_small(number):
                self._small.add(key)
        is_fixed = (key, _kind_of(number)) in self._fixed and not self._is_spent(key)
        takes = is_input(number) or is_small(number) and self.may_be_small(source)
        if is_fixed or not takes:
            return False
        is_scheduled = is_scheduled and type(number) is float
        if key in self._varying or is_scheduled or named:
            return True
        return bool(self.dynamic) and _is_argument(source)

    def _is_named_number(self, number: int | float, source: Source) -> bool:
        """Whether torch's switches name an integer.

        ``.*`` fits the attributes of modules, too, such as how many heads there are.
        Kernels are chosen by these, so a pattern counts for arguments alone.
        """
        if type(number) is not int:
            return False
        texts = texts_of(str(source), self._forward)
        found = is_named(texts, number, exactly=not _is_argument(source))
        if found:
            self._named.add(_key(source))
        return found

    def fix(self, number: int | float, source: Source) -> None:
        """Python has to know this number: it is not tried as an input again.

        A number that an operation fixed is, because it may have been compared with a
        size that is only later found to vary.
        """
        if self._spec is not None and self._spec.varies(number, source):
            raise spec_fixed(source, number)
        self._fixed.add((_key(source), _kind_of(number)))

    def may_be_small(self, source: Source) -> bool:
        """Whether one input stands for a number where it is 0 or 1, and where not.

        Positions and counters are 0 and 1, too. Entries for these values of each item
        of a list multiply.
        """
        key = _key(source)
        return self._spec is None and key in self._small and key not in self._sizes

    def becomes_size(self, source: Source) -> None:
        """Sizes follow from a number, so 0 and 1 have entries of their own."""
        self._sizes.add(_key(source))

    def begin(self, function: FunctionType, arguments: tuple) -> None:
        """Begins the capture of a call of a function."""
        self._forward = names_of_forward(function, arguments)
        if self._spec is not None:
            self._spec.begin(function)

    def note(self, value: Any, source: Source) -> None:
        """Notes what stands for a number."""
        if self._spec is not None:
            self._spec.note(source, value)

    def hold(self, graph: Any) -> None:
        """Guards what the program says of the arguments of a captured graph."""
        if self._spec is not None:
            self._spec.hold(graph)

    def check_fixed(self) -> None:
        """Raises where a number had to be fixed that varies by what was given."""
        if self._spec is not None:
            self._spec.check_fixed()

    def learn(self, guards: Iterable) -> None:
        """Notes the values that an entry holds for."""
        self._learned += [
            (guard.source, limited_value(guard))
            for guard in guards
            if limited_value(guard) is not None
        ]
        if self._most_values is None:
            return
        for guard in guards:
            checked = _CHECKED.get(guard.kind)
            if checked and checked(guard.source) in self._asked:
                self._hold(checked(guard.source), guard.operand)
            elif limited_value(guard) is None:
                continue
            self._limited.add((guard.kind, str(guard.source)))

    def _take_in(self) -> None:
        for source, value in self._learned:
            key = _key(source)
            if type(value) in (int, float):
                self._numbers[key] = value
            self._hold(key, value)
        self._learned.clear()

    # Values that have no more entries of their own

    def check_value(self, source: Source) -> None:
        """Raises where Python asks for a value that had too many others before.

        Behind a break, where a loop goes on with another position or name each time,
        Python does what needs the value, and no entry is made for it.
        """
        self._take_in()
        if self._is_spent(_key(source)):
            _refuse_value(str(source))

    def check_length(self, source: Source) -> None:
        """The same for how many items there are."""
        self._check(_length_key(source), f"len({source})")

    def check_keys(self, source: Source) -> None:
        """The same for the keys of a dict."""
        self._check(_keys_key(source), f"list({source})")

    def _check(self, key: str, text: str) -> None:
        self._asked.add(key)
        if self._is_spent(key):
            _refuse_value(text)

    def limits(self, failure: Failure) -> bool:
        """Whether the values of a guard come to an end since uses of it are checked."""
        if failure.kind == COMPUTED:
            return self._most_values is not None
        return (failure.kind, failure.subject) in self._limited

    def limits_guard(self, guard: Guard) -> bool:
        """The same for a guard itself."""
        return (guard.kind, str(guard.source)) in self._limited

    def check_computed(self, formula: str) -> None:
        """The same for what Python computes from numbers."""
        if self._is_spent(formula):
            _refuse_value(formula)

    def learn_computed(self, formula: str, value: int | float) -> None:
        """Notes what an entry holds for, of what Python computes from numbers."""
        self._hold(formula, value)

    def _hold(self, key: str, value: Any) -> None:
        if self._most_values is not None:
            self._values.setdefault(key, set()).add((type(value), value))

    def _is_spent(self, key: str) -> bool:
        """Whether a value gets no more entries: it had many, or all together have."""
        if self._most_values is None:
            return False
        seen = len(self._values.get(key, ()))
        multiplies = self._most_together is not None and seen > 1
        is_full = multiplies and self.entries > self._most_together
        return is_full or seen >= self._most_values


def spec_violated(context: object, explanation: str) -> UnsupportedError:
    """The error of a call for which ``shapes_spec`` does not hold; no break helps."""
    return UnsupportedError(
        SPEC_VIOLATED,
        str(context),
        f"By shapes_spec {explanation}.",
        ("Change shapes_spec, or call with other arguments.",),
    ).marked(is_final=True, break_points=())


def spec_fixed(context: object, value: object) -> UnsupportedError:
    """The error of a number that varies, but that the program fixes."""
    text = f"it varies, but the captured program is right only for {value}"
    return spec_violated(context, text)


def _refuse_value(context: str):
    unsupported(
        kind=TOO_MANY_VALUES,
        context=context,
        explanation=(
            "girih would have to compile the code that uses the value again for each "
            "value. Python runs this code instead."
        ),
        hints=(
            "In a loop, iterate over the items instead of their positions or names.",
        ),
    )


def _kind_of(number: int | float) -> int:
    """-1 for numbers below zero, 0 for the ints 0 and 1, 1 for others."""
    if number < 0:
        return -1
    return 0 if is_small(number) else 1


def _key(source: Source) -> str:
    """Names a source; objects that are held may have one description."""
    root = source.root()
    prefix = f"{id(root.key)} " if root.access == "constant" else ""
    return f"{prefix}{source}"


def _length_key(source: Source) -> str:
    return f"len({_key(source)})"


def _keys_key(source: Source) -> str:
    return f"list({_key(source)})"


# By the kind of guard, how ``Sizes`` names what has many values.
_CHECKED = {"length": _length_key, "keys": _keys_key}


def _size_key(key: str, dim: int) -> str:
    return f"{key}.size({dim})"


def _is_argument(source: Source) -> bool:
    """Whether the caller passes a number, by itself or in containers."""
    while source.base is not None:
        if source.access not in _CONTAINERS:
            return False
        source = source.base
    return source.access == "local"


def _is_scheduled(source: Source) -> bool:
    """Whether a number is an option of an optimizer that schedules change."""
    if source.access == "index":  # of a pair of betas
        source = source.base
    if source.access != "dict_item" or source.key not in _SCHEDULED:
        return False
    groups = source.base.base
    return groups is not None and groups.key == "param_groups"


def _marked(tensor: torch.Tensor, dims: dict) -> dict[int, DynamicDim]:
    """The dims with torch's marks on the tensor."""
    marks = tensor.__dict__
    dims = {d: how for d, how in dims.items() if d not in _dims(marks, "static")}
    for dim in _dims(marks, "weak_dynamic"):
        dims[dim] = DynamicDim()
    for dim in _dims(marks, "dynamic") | _dims(marks, "unbacked"):
        dims[dim] = DynamicDim(is_marked=True)
    for given in marks.get("_dynamo_dynamic_range", ()):
        dims[given.dim] = DynamicDim(True, given.min, given.max)
    return dims


def _dims(marks: dict, kind: str) -> set[int]:
    return set(marks.get(f"_dynamo_{kind}_indices", ()))
