"""Random sequences of changes to what objects hold, against eager.

What the program sees on the way and what is left at the end have to be the same: the
names, their order, and which dict of a module has them.
"""

import os
import random
import warnings

import pytest
import torch

import girih
from girih.errors import UnsupportedError

LONG = os.environ.get("GIRIH_TEST_LONG") == "1"
COUNT = 150 if LONG else 5
_NAMES = ("w", "b", "l", "p", "n")
_ERRORS = (AttributeError, KeyError, TypeError, ValueError, IndexError, NameError)


class Holder(torch.nn.Module):
    """A module with a parameter, a buffer, a submodule and a plain attribute."""

    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.ones(2))
        self.register_buffer("b", torch.full((2,), 2.0))
        self.l = torch.nn.Linear(2, 2, bias=False)
        torch.nn.init.ones_(self.l.weight)
        self.p = 5


class Plain:
    """An object with a ``__dict__``."""

    def __init__(self):
        self.w, self.b, self.l, self.p = 1, 2.0, "l", torch.ones(2)


class Slots:
    """An object without one."""

    __slots__ = _NAMES

    def __init__(self):
        self.w, self.b, self.l = 1, 2.0, "l"


class Mixed(Slots):
    """An object with both."""

    def __init__(self):
        super().__init__()
        self.extra = 1


def _layers(count: int) -> list:
    made = [torch.nn.Linear(2, 2, bias=False) for _ in range(count)]
    for index, layer in enumerate(made):
        torch.nn.init.constant_(layer.weight, index + 1.0)
    return made


def _parameters(count: int) -> list:
    return [torch.nn.Parameter(torch.full((2,), i + 1.0)) for i in range(count)]


MAKERS = {
    "module": Holder,
    "plain": Plain,
    "slots": Slots,
    "mixed": Mixed,
    "dict": lambda: {"w": 1, "b": 2.0, "p": torch.ones(2)},
    "list": lambda: [1, 2.0, torch.ones(2)],
    "module list": lambda: torch.nn.ModuleList(_layers(2)),
    "sequential": lambda: torch.nn.Sequential(*_layers(2)),
    "module dict": lambda: torch.nn.ModuleDict(
        dict(zip("wb", _layers(2), strict=True))
    ),
    "parameter list": lambda: torch.nn.ParameterList(_parameters(2)),
    "parameter dict": lambda: torch.nn.ParameterDict(
        dict(zip("wb", _parameters(2), strict=True))
    ),
}
_SHARED = ["set", "delete", "delete", "look"]
_OPERATIONS = {
    "module": [*_SHARED, "set", "register", "buffer", "add", "namespace", "see"],
    "plain": [*_SHARED, "namespace", "unnamespace", "names"],
    "slots": _SHARED,
    "mixed": [*_SHARED, "names"],
    "dict": ["put", "take", "take", "keys", "pop", "default", "update"],
    "list": ["append", "insert", "drop", "remove", "assign", "sum"],
    "module list": ["append", "insert", "drop", "remove", "assign", "see"],
    "sequential": ["append", "insert", "remove", "assign", "see"],
    "module dict": ["put", "take", "pop", "see", "keys", "update"],
    "parameter list": ["append", "assign", "see"],
    "parameter dict": ["put", "take", "pop", "see", "keys", "default", "update"],
}
_OF_MODULES = ("module list", "sequential", "module dict")
_OF_PARAMETERS = ("parameter list", "parameter dict")


def see(module):
    """What the methods of a module tell of what it holds."""
    total = sum((part * part).sum() for part in module.parameters())
    return (
        [name for name, _ in module.named_parameters()],
        [name for name, _ in module.named_buffers()],
        [name for name, _ in module.named_children()],
        [name for name, _ in module.named_modules()],
        list(module.state_dict()),
        (len(module._parameters), len(module._buffers), len(module._modules)),
        len(list(module.children())) + len(list(module.buffers())),
        total,
    )


def change(target, operation: str, name: str, value, index: int):
    """One operation; what it gives is compared."""
    if operation == "set":
        setattr(target, name, value)
    elif operation == "delete":
        delattr(target, name)
    elif operation == "look":
        return type(getattr(target, name, None)).__name__
    elif operation == "register":
        target.register_parameter(name, value)
    elif operation == "buffer":
        target.register_buffer(name, value, persistent=index % 2 == 0)
    elif operation == "add":
        target.add_module(name, value)
    elif operation == "namespace":
        target.__dict__["made_" + name] = index
    elif operation == "unnamespace":
        del target.__dict__[name]
    elif operation == "names":
        return list(vars(target))
    elif operation == "see":
        return see(target)
    elif operation == "put":
        target[name] = value
    elif operation == "take":
        del target[name]
    elif operation == "keys":
        return list(target.keys())
    elif operation == "pop":
        target.pop(name)
    elif operation == "default":
        target.setdefault(name, value)
    elif operation == "update":
        target.update({name: value, "z": value})
    elif operation == "append":
        target.append(value)
    elif operation == "insert":
        target.insert(index % 3, value)
    elif operation == "drop":
        target.pop(index % 3)
    elif operation == "remove":
        del target[index % 3]
    elif operation == "assign":
        target[index % 3] = value
    elif operation == "sum":
        return sum(item for item in target if not isinstance(item, str))
    return None


def run(x, target, pool, steps):
    """All the operations, and what was seen."""
    seen = []
    for operation, name, kind, index in steps:
        value = x * (index + 1) if kind == "tensor" else pool[kind]
        try:
            seen.append(change(target, operation, name, value, index))
        except _ERRORS as error:
            seen.append((type(error).__name__, str(error)))
    return x + 1, seen


def _steps(draw: random.Random, kind: str) -> tuple:
    steps = []
    for _ in range(draw.randint(2, 9)):
        operation = draw.choice(_OPERATIONS[kind])
        kinds = ["tensor", "number", "none", "text"]
        if kind == "module":
            kinds = ["tensor", "tensor", "parameter", "layer", "none", "number"]
            if operation == "register":
                kinds = ["parameter", "other", "none"]
            elif operation == "add":
                kinds = ["layer", "none", "number"]
        elif kind in _OF_MODULES:
            kinds = ["layer", "second"]
        elif kind in _OF_PARAMETERS:
            kinds = ["parameter", "other"]
        names = _NAMES if kind not in ("plain", "mixed") else (*_NAMES, "extra")
        step = (operation, draw.choice(names), draw.choice(kinds), draw.randrange(4))
        steps.append(step)
    return tuple(steps)


def _pool() -> dict:
    (first, second), (parameter, other) = _layers(2), _parameters(2)
    return {
        "number": 7,
        "none": None,
        "text": "t",
        "layer": first,
        "second": second,
        "parameter": parameter,
        "other": other,
    }


def described(value, pool):
    """A text of a value and of all that it holds, in order."""
    for name, held in pool.items():
        if value is held:
            return name
    if isinstance(value, torch.Tensor):
        return f"{type(value).__name__}{value.detach().reshape(-1).tolist()}"
    if isinstance(value, dict):
        return {str(key): described(item, pool) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [described(item, pool) for item in value]
    if isinstance(value, Slots):
        own = {n: getattr(value, n) for n in _NAMES if hasattr(value, n)}
        return [described(own, pool), described(getattr(value, "__dict__", {}), pool)]
    if hasattr(value, "__dict__") and not isinstance(value, type):
        return described(vars(value), pool)
    return repr(value)


def _ordered(text):
    """Dicts compare whatever their order: lists of pairs do not."""
    if isinstance(text, dict):
        return [(key, _ordered(item)) for key, item in text.items()]
    return [_ordered(item) for item in text] if isinstance(text, list) else text


def outcome(function, kind: str, steps) -> tuple:
    """What a function gives and leaves; two calls, as the second may be another."""
    target, pool = MAKERS[kind](), _pool()
    found = []
    for turn in range(2):
        result, seen = function(torch.ones(2) + turn, target, pool, steps)
        found.append(described([result, seen], pool))
        found.append(described(target, pool))
    return _ordered(found)


def difference(kind: str, seed: int) -> str | None:
    """How a compiled sequence of changes differs from an eager one, or None."""
    steps = _steps(random.Random(f"{kind} {seed}"), kind)
    expected = outcome(run, kind, steps)
    girih.reset()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            given = outcome(girih.compile(run, fullgraph=True), kind, steps)
        except UnsupportedError:
            girih.reset()
            given = outcome(girih.compile(run), kind, steps)
    return None if given == expected else f"{steps}\n{given}\n{expected}"


@pytest.mark.parametrize("kind", MAKERS)
def test_a_sequence_of_changes_leaves_what_eager_leaves(kind):
    """Sets, deletions and sets again, in dicts, slots, modules and containers."""
    for seed in range(COUNT):
        found = difference(kind, seed)
        assert found is None, found


def _program(seed: int) -> str:
    """The text of a function that sets and deletes globals, or cells."""
    draw = random.Random(seed)
    lines = ["def make():", "    A, B = 1, 2.0", "    def run(x):", "        seen = []"]
    lines.append(f"        {draw.choice(('global', 'nonlocal'))} A, B")
    for _ in range(draw.randint(2, 8)):
        name = draw.choice("AB")
        change = draw.choice(
            (f"{name} = x * 2", f"{name} = 3", f"del {name}", f"del {name}", name)
        )
        lines.append(f"        try: {change}")
        lines.append("        except NameError as error: seen.append(str(error))")
    return "\n".join([*lines, "        return x + 1, seen", "    return run", ""])


def _outcome_of_program(text: str, compiled) -> list:
    namespace = {"A": 1, "last": 2, "B": 3}
    exec(compile(text, "<program>", "exec"), namespace)
    run = namespace["make"]()
    changed = compiled(run)
    found = []
    for _ in range(2):
        found.append(str(changed(torch.ones(2))))
        found.append([(n, str(namespace[n])) for n in namespace if len(n) in (1, 4)])
        for cell in run.__closure__ or ():
            try:
                found.append(str(cell.cell_contents))
            except ValueError:
                found.append("empty")
    return [str(item).split(" at 0x")[0] for item in found]


@pytest.mark.parametrize("seed", range(200 if LONG else 25))
def test_globals_and_cells_are_left_as_eager_leaves_them(seed):
    """Sets, deletions and sets again of names."""
    text = _program(seed)
    expected = _outcome_of_program(text, lambda run: run)
    girih.reset()
    given = _outcome_of_program(text, lambda run: girih.compile(run, fullgraph=True))
    assert given == expected, text


_HELD = [1, 1.5, "t", None, True, (1,), [1], {"a": 1}, torch.ones(1), len, Plain, 1j]


@pytest.mark.parametrize("held", _HELD, ids=str)
@pytest.mark.parametrize("cls", [Plain, Slots, Holder])
def test_whether_an_attribute_exists_is_guarded(held, cls):
    """What is found and not looked at decides which way the program goes."""

    def is_there(x, target):
        return x + (1 if hasattr(target, "n") else 2)

    def read(x, target):
        try:
            _ = target.n
        except AttributeError:
            return x + 2
        return x + 1

    def in_dict(x, target):
        return x + (1 if "n" in getattr(target, "__dict__", ("n",)) else 2)

    for function in (is_there, read, in_dict):
        target = cls()
        target.n = held
        compiled = girih.compile(function, fullgraph=True)
        for _ in range(2):
            assert compiled(torch.zeros(1), target).item() == 1
        del target.n
        expected = function(torch.zeros(1), target)
        assert torch.equal(compiled(torch.zeros(1), target), expected)


def test_a_name_that_the_class_has_a_slot_for_is_not_put_into_the_dict():
    """The object would have two attributes of a name: Python does that."""

    def shadow(x, target):
        target.__dict__["w"] = 3
        return x + 1

    with pytest.raises(UnsupportedError, match="that the class has a slot for"):
        girih.compile(shadow, fullgraph=True)(torch.ones(1), Mixed())
    target = Mixed()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        girih.compile(shadow)(torch.ones(1), target)
    assert vars(target) == {"extra": 1, "w": 3} and target.w == 1


def test_what_forward_adds_is_seen_at_once():
    """A parameter and a layer that the first call makes are in the module's dicts."""

    class Lazy(torch.nn.Module):
        def forward(self, x):
            if not hasattr(self, "g"):
                self.g = torch.nn.Parameter(torch.ones(1))
                self.add = torch.nn.ReLU()
            return sum((p * p).sum() for p in self.parameters()) + x, see(self)[:-1]

    expected, given = Lazy()(torch.ones(2)), girih.compile(Lazy())(torch.ones(2))
    assert torch.equal(expected[0], given[0]) and expected[1] == given[1]


def test_a_parameter_that_is_replaced_by_a_tensor():
    """``del self.w; self.w = tensor``, as weight norm does."""

    class Doubled(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.w = torch.nn.Parameter(torch.ones(2))

        def forward(self, x):
            w = self.w
            del self.w
            self.w = w * 2
            return x * self.w

    module, compiled = Doubled(), Doubled()
    expected = module(torch.ones(2))
    given = girih.compile(compiled, fullgraph=True)(torch.ones(2))
    assert torch.equal(expected, given)
    assert list(vars(module)) == list(vars(compiled)) and not compiled._parameters
