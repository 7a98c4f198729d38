"""Dataclasses and enums."""

import dataclasses
import enum
import functools

import torch

from differential.program import program, rand


@dataclasses.dataclass
class Box:
    value: torch.Tensor
    name: str = "box"
    extra: list = dataclasses.field(default_factory=list)

    def doubled(self):
        return self.value * 2

    @property
    def half(self):
        return self.value / 2

    @classmethod
    def of(cls, value):
        return cls(value)


@dataclasses.dataclass(frozen=True)
class Config:
    width: int = 3
    scale: float = 2.0
    names: tuple = ("a", "b")


@dataclasses.dataclass(order=True)
class Ranked:
    rank: int
    label: str = dataclasses.field(compare=False, default="")


@dataclasses.dataclass
class Validated:
    n: int
    squared: int = dataclasses.field(init=False)

    def __post_init__(self):
        if self.n < 0:
            raise ValueError(f"negative: {self.n}")
        self.squared = self.n**2


@dataclasses.dataclass
class Derived(Box):
    bias: float = 1.0

    def doubled(self):
        return super().doubled() + self.bias


@dataclasses.dataclass(slots=True, kw_only=True)
class Slotted:
    a: int
    b: int = 2


class Color(enum.Enum):
    RED = 1
    BLUE = 2

    @property
    def lowered(self):
        return self.name.lower()

    @classmethod
    def default(cls):
        return cls.BLUE


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 10


class Flags(enum.Flag):
    A = enum.auto()
    B = enum.auto()
    C = enum.auto()


class Name(str, enum.Enum):
    RELU = "relu"
    TANH = "tanh"


@program(rand(3))
def made(x):
    box = Box(x)
    box.name = "new"
    box.extra.append(x + 1)
    return box, box.doubled(), box.half, Box.of(x).name


@program(rand(3), Box(rand(3)))
def argument(x, box):
    box.value = box.value + x
    box.extra.append("seen")
    return box.doubled()


@program(rand(3), Config()).then(rand(3), Config(5)).then(rand(3), Config(scale=3.0))
def frozen(x, config):
    return x * config.scale + config.width, len(config.names), config == Config()


@program(rand(3), Config())
def frozen_rejects_changes(x, config):
    config.width = 4
    return x


@program(rand(3), Config())
def replaced(x, config):
    other = dataclasses.replace(config, width=9)
    return x + other.width, other, config.width


@program(rand(3), Box(1, "n", [1, 2]))
def converted(x, box):
    return (
        x,
        dataclasses.asdict(box),
        dataclasses.astuple(box),
        dataclasses.is_dataclass(box),
    )


@program(rand(3), Config())
def fields(x, config):
    names = [f.name for f in dataclasses.fields(config)]
    return x, names, {n: getattr(config, n) for n in names}


@program(rand(3))
def ordered(x):
    items = [Ranked(2, "b"), Ranked(1, "a")]
    return (
        x,
        sorted(items)[0].label,
        Ranked(1) < Ranked(2),
        Ranked(1, "q") == Ranked(1, "r"),
    )


@program(rand(3), 3).then(rand(3), -1)
def post_init(x, n):
    return x + Validated(n).squared


@program(rand(3))
def inheritance(x):
    derived = Derived(x, bias=2.0)
    return derived.doubled(), isinstance(derived, Box), derived.name, derived


@program(rand(3))
def slotted(x):
    s = Slotted(a=1)
    s.b = x
    return s, s.a


@program(rand(3))
def default_factories_are_fresh(x):
    a, b = Box(x), Box(x)
    a.extra.append(1)
    return a.extra, b.extra, a.extra is not b.extra


@program(rand(3))
def equality_and_repr(x):
    return (
        x,
        Config() == Config(),
        Config() != Config(4),
        repr(Config()),
        hash(Config()) == hash(Config()),
    )


@program(rand(3), Box(Box(1, "inner"), "outer"))
def nested(x, box):
    box.value.value += 1
    return x * box.value.value, box.value.name


@dataclasses.dataclass
class Output:
    loss: torch.Tensor
    logits: torch.Tensor | None = None

    def __getitem__(self, name):
        return getattr(self, name)


@program(rand(3))
def as_output(x):
    out = Output(x.sum(), logits=x * 2)
    return out, out["loss"], out.logits is not None


@program(rand(3), Color.RED).then(rand(3), Color.BLUE)
def enum_branches(x, color):
    if color is Color.RED:
        return x + 1
    return x * color.value, color.lowered


@program(rand(3))
def enum_lookups(x):
    return (
        x,
        Color(2),
        Color["RED"],
        Color.RED.name,
        Color.default(),
        [c.name for c in Color],
    )


@program(rand(3), Color.RED)
def enum_comparisons(x, color):
    return (
        x,
        color == Color.RED,
        color != Color.BLUE,
        color in (Color.BLUE,),
        isinstance(color, Color),
    )


@program(rand(3), Color.BLUE)
def enum_as_key(x, color):
    table = {Color.RED: 1, Color.BLUE: 2}
    return x * table[color], len(Color), color in table


@program(rand(3), Level.HIGH)
def int_enums(x, level):
    return x + level, level > Level.LOW, level + 1, Level(1), int(level)


@program(rand(3), Flags.A | Flags.C)
def flags(x, f):
    return x, Flags.A in f, Flags.B in f, f & Flags.A, bool(f & Flags.B), f | Flags.B


@program(rand(3), Name.RELU).then(rand(3), Name.TANH)
def string_enums(x, name):
    if name == "relu":
        return torch.relu(x)
    return getattr(torch, name.value)(x)


@program(rand(3))
def enum_unknown_value(x):
    return x, Color(7)


@program(rand(3))
def enum_in_format(x):
    return x, f"{Color.RED} {Color.RED!r} {Level.HIGH}", str(Color.BLUE)


@program(rand(3))
def dataclass_made_inside(x):
    @dataclasses.dataclass
    class Local:
        a: int
        b: int = 3

    return x + Local(1).b, Local(1, 2) == Local(1, 2)


@program(rand(3))
def field_is_missing(x):
    return Box()


@program(rand(3), functools.partial(Box, name="partial"))
def made_by_partial(x, make):
    return make(x).doubled(), make(x).name
