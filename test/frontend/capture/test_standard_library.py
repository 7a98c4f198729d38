"""The standard library and Python's object protocols, in one graph, against Python."""

import bisect
import collections
import contextlib
import copy
import dataclasses
import datetime
import decimal
import enum
import fractions
import functools
import heapq
import inspect
import itertools
import json
import math
import operator
import re
import string
import types
import typing

import pytest
import torch
from capture_differential import Cases, check, rand

case = Cases()


class Mode(enum.Flag):
    A = 1
    B = 2
    C = 4


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Word(enum.StrEnum):
    ONE = "one"


@case(rand(3), Mode.A)
def flags(x, mode):
    both = mode | Mode.B
    return x, both, both & Mode.A, Mode.B in both, ~both, bool(Mode(0)), list(both)


@case(rand(3), Level.HIGH)
def members(x, level):
    text = f"{level.name} {Word.ONE.value} {level:d}", Word.ONE.upper(), Word("one")
    return x * level, level + 1, level > Level.LOW, Level(1), Level["LOW"], text


class Weight(float, enum.Enum):
    HALF = 0.5


@case(rand(3))
def methods_of_the_builtin_class(x):
    """Past what the class of the object overrides, as json does."""
    return x, float.__repr__(Weight.HALF), int.__repr__(Level.HIGH), str(Weight.HALF)


@case(rand(3))
def parts_of_iterators_without_end(x):
    try:
        first, second = itertools.count()
    except ValueError as error:
        text = str(error)
    return x, text


@case(rand(3))
def wrong_calls(x):
    texts = []
    calls = (
        lambda: [].append(),
        lambda: {}.get(),
        lambda: {}.clear(1),
        lambda: (lambda a, *, b: a)(1),
        lambda: Ranked(),
        lambda: Ranked(1, 2, 3),
    )
    for call in calls:
        try:
            call()
        except TypeError as error:
            texts.append(str(error))
    return x, texts


@case(rand(3))
def matched_patterns(x):
    found = []
    for value in (range(2), "ab", {"a": 1}, [1, 2], Ranked(3), True):
        match value:
            case [a, b]:
                found.append((a, b))
            case {"a": a}:
                found.append(a)
            case Ranked(rank=r):
                found.append(r)
            case int(n):
                found.append(n)
            case _:
                found.append(None)
    return x, found


@dataclasses.dataclass(order=True)
class Ranked:
    rank: int
    name: str = dataclasses.field(default="a", compare=False)
    tags: list = dataclasses.field(default_factory=list, repr=False)


@dataclasses.dataclass(frozen=True)
class Fixed:
    size: int
    scale: float = 2.0

    def __post_init__(self):
        object.__setattr__(self, "area", self.size * self.size)


@dataclasses.dataclass(slots=True)
class Slotted:
    value: torch.Tensor
    count: int = 0


@dataclasses.dataclass(kw_only=True)
class Nested:
    ranked: Ranked
    rest: dict


@case(rand(3))
def dataclass_functions(x):
    one = Ranked(2)
    two = dataclasses.replace(one, rank=1, name="b")
    names = [field.name for field in dataclasses.fields(one)]
    nested = Nested(ranked=one, rest={"k": [1]})
    return x, sorted([one, two])[0].name, repr(two), names, dataclasses.asdict(nested)


@case(rand(3))
def frozen_dataclasses(x):
    fixed = Fixed(3)
    try:
        fixed.size = 4
    except dataclasses.FrozenInstanceError as error:
        text = str(error)
    return x * fixed.scale, fixed.area, text, hash(fixed) == hash(Fixed(3)), {fixed: 1}


@case(rand(3))
def slotted_dataclasses(x):
    slotted = Slotted(x)
    slotted.count += 1
    return slotted, dataclasses.astuple(Ranked(1))


@case(rand(3))
def counters(x):
    counter = collections.Counter("hello")
    counter["z"] += 2
    counter.subtract("l")
    total = counter + collections.Counter(a=1)
    return x, dict(counter), counter.most_common(2), dict(total), counter.total()


@case(rand(3))
def chain_maps(x):
    maps = collections.ChainMap({"a": 1}, {"a": 2, "b": x})
    maps["c"] = 3
    child = maps.new_child({"d": 4})
    return maps["b"] + maps["a"], sorted(child), len(maps), "d" in maps, dict(child)


class Missing(dict):
    def __missing__(self, key):
        return key * 2


@case(rand(3), Missing(a=1))
def missing_keys(x, table):
    return x, table["a"], table["b"], table.get("c"), "b" in table


@case(rand(3), collections.deque([1, 2], maxlen=3))
def deques(x, given):
    given.append(x)
    given.appendleft(0)
    made = collections.deque(given)
    made.rotate(1)
    made += [5]
    return list(made), made[0], made.maxlen, given == made, len(given), given + made


class Tree:
    def __init__(self, value, children=()):
        self.value = value
        self.children = list(children)
        self.parent = None


class Copied:
    def __init__(self, value):
        self.value = value

    def __copy__(self):
        return Copied((self.value, "copied"))

    def __deepcopy__(self, memo):
        return Copied((copy.deepcopy(self.value, memo), "deep"))


@case(rand(3))
def copies_of_objects(x):
    tree = Tree(1, [Tree(2)])
    tree.children[0].parent = tree
    shallow, deep = copy.copy(tree), copy.deepcopy(tree)
    same = shallow.children is tree.children, deep.children is tree.children
    around = deep.children[0].parent is deep, deep.children[0].value
    return x, same, around, copy.copy(Copied(1)).value, copy.deepcopy(Copied([1])).value


@case(rand(3), {"a": [1, (2, [3])]})
def copies_of_containers(x, table):
    shared = [x]
    deep = copy.deepcopy([table, table])
    return (
        deep[0] is deep[1],
        deep,
        copy.copy(table)["a"] is table["a"],
        copy.copy(shared),
    )


@case(rand(3), [3, 1, 2])
def heaps(x, items):
    heap = list(items)
    heapq.heapify(heap)
    heapq.heappush(heap, 0)
    first = heapq.heappop(heap), heapq.heappushpop(heap, 9), heapq.heapreplace(heap, 4)
    return x, heap, first, heapq.nlargest(2, items), heapq.nsmallest(1, items, key=abs)


@case(rand(3), [1, 3, 5])
def bisections(x, items):
    found = bisect.bisect_left(items, 3), bisect.bisect(items, 3)
    bisect.insort(items, 4)
    return x, found, items, bisect.bisect_left(items, -4, key=lambda item: -item)


class Least:
    def __init__(self, rank):
        self.rank = rank

    def __lt__(self, other):
        return self.rank < other.rank


@case(rand(3))
def sorting_by_less_than(x):
    items = [Least(3), Least(1), Least(2)]
    ranks = [item.rank for item in sorted(items, reverse=True)]
    items.sort()
    return x, ranks, items[0].rank, min(items).rank, max(items).rank


@functools.total_ordering
class Total:
    def __init__(self, rank):
        self.rank = rank

    def __eq__(self, other):
        return self.rank == other.rank

    def __lt__(self, other):
        return self.rank < other.rank


@case(rand(3))
def total_order(x):
    one, two = Total(1), Total(2)
    return x, one <= two, one >= two, one > two, one != two


@functools.singledispatch
def kind(value):
    return "other"


@kind.register
def _(value: int):
    return "int"


@kind.register(list)
def _(value):
    return f"list of {len(value)}"


@case(rand(3))
def single_dispatch(x):
    return x, kind(1), kind([1]), kind("a")


@functools.cache
def cached(count):
    return [count] * count


@functools.cache
def scaled(x, factor):
    return x * factor


def logged(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        """Other."""
        return function(*args, **kwargs) + 1

    return wrapper


@case(rand(3))
def wrappers(x):
    @logged
    def inner(y, *, by=2):
        """Doc."""
        return y * by

    named = inner.__name__, inner.__doc__, inner.__wrapped__(x)
    return inner(x), named, functools.reduce(operator.add, [1, 2, 3], 4)


class Lazy:
    def __init__(self, value):
        self.value = value

    @functools.cached_property
    def costly(self):
        return self.value * 2

    @functools.partialmethod
    def unused(self):
        return 0


@case(rand(3))
def cached_properties(x):
    lazy = Lazy(x)
    return lazy.costly, lazy.costly is lazy.costly, sorted(vars(lazy))


Point = collections.namedtuple("Point", "a b", defaults=[2])


class Typed(typing.NamedTuple):
    first: int
    second: str = "s"

    def both(self):
        return f"{self.first}{self.second}"


@case(rand(3))
def named_tuples(x):
    point = Point(x)
    other = point._replace(a=1)
    typed = Typed(1)
    return point, other, other._asdict(), Point._make([3, 4]), repr(other), typed.both()


@case(rand(3))
def texts(x):
    name, values = "a-b_c", (1, 2.5, "z")
    made = "%d %.2f %s" % values, "{:>5}|{!r:<6}".format(1, "b")  # noqa: UP031, UP032
    parts = (
        name.partition("-"),
        name.title(),
        name.encode().hex(),
        name.translate({45: 46}),
    )
    template = string.Template("$who is $what").substitute(who="he", what=3)
    return x, made, parts, template, f"{[1][0]} {(2).real}", "x".join("ab")


@case(rand(3))
def patterns(x):
    pattern = re.compile(r"(\w+)=(\d+)")
    match = pattern.match("abc=12")
    found = match.group(1), match.groups(), match.span(), pattern.findall("a=1 b=2")
    return x * int(match[2]), found, re.sub(r"\d", "#", "a1b2"), re.split(",", "a,b")


@case(rand(3))
def dates(x):
    day = datetime.date(2024, 2, 29)
    later = day + datetime.timedelta(days=1)
    return x * later.day, later.isoformat(), (later - day).days, f"{day:%Y}"


@case(rand(3), datetime.datetime(2024, 1, 2, 3), decimal.Decimal("1.10"))
def dates_and_decimals_as_arguments(x, moment, amount):
    return x * moment.hour, moment.year, str(amount * 2), moment.replace(hour=1)


@case(rand(3))
def fractions_and_json(x):
    half = fractions.Fraction(1, 2)
    loaded = json.loads('{"a": [1, 2.5, null]}')
    return x * float(half), half + 1, loaded, json.dumps({"b": [1, True]})


@case(rand(3))
def numbers(x):
    number = 10
    parts = (
        number.bit_length(),
        (3).to_bytes(2, "big"),
        int.from_bytes(b"\x01\x02", "big"),
    )
    rest = (2.5).is_integer(), (0.5).hex(), (1 + 2j).conjugate(), divmod(-7, 3), 7 // -2
    return (
        x,
        parts,
        rest,
        math.prod([1, 2, 3]),
        math.hypot(3, 4),
        math.gcd(4, 6),
        abs(-2j),
    )


@case(rand(3))
def getters(x):
    get, attr = operator.itemgetter(1, 0), operator.attrgetter("shape", "dtype")
    call = operator.methodcaller("sum", dim=0)
    rows = sorted([(1, "b"), (2, "a")], key=operator.itemgetter(1))
    return get([1, x]), attr(x)[1], call(x), rows, operator.concat([1], [2])


def described(a, b: int = 2, *rest, c=3, **more):
    return a


@case(rand(3))
def signatures(x):
    signature = inspect.signature(described)
    names = list(signature.parameters)
    bound = signature.bind(1, c=5)
    return x, names, signature.parameters["b"].default, bound.arguments


@case(rand(3))
def typing_does_nothing(x):
    value = typing.cast(int, 3)
    hints = typing.get_type_hints(described)
    return (
        x * value,
        hints,
        str(typing.Optional[int]),  # noqa: UP045
        list[int],
        typing.get_args(dict[str, int]),
    )


@contextlib.contextmanager
def tracked(log, name):
    log.append(f"enter {name}")
    try:
        yield name
    finally:
        log.append(f"leave {name}")


@case(rand(3), [])
def context_managers(x, log):
    with contextlib.ExitStack() as stack:
        for name in "ab":
            stack.enter_context(tracked(log, name))
        stack.callback(log.append, "called")
    with contextlib.suppress(KeyError), tracked(log, "c") as name:
        {}["missing"]
    with contextlib.nullcontext(4) as number:
        return x * number, name


@case(rand(3))
def namespaces(x):
    space = types.SimpleNamespace(a=1, b=x)
    space.c = 3
    return space.b + space.a, vars(space)["c"], hasattr(space, "d")


@case(rand(3), [1, 2])
def identities(x, items):
    other = items
    return x, id(items) == id(other), id(items) == id([1]), {id(items): 1}[id(other)]


@case(rand(3))
def iteration_tools(x):
    groups = [(key, list(items)) for key, items in itertools.groupby("aab")]
    return (
        x,
        groups,
        list(itertools.accumulate([1, 2, 3])),
        dict(zip("ab", (1, 2), strict=True)),
    )


@pytest.mark.parametrize("function, args, kwargs", case.parameters)
def test_same_as_plain(function, args, kwargs):
    check(function, *args, **kwargs)
