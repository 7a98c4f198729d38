"""User classes."""

import functools

import torch

from differential.program import program, rand


class Counter:
    """Counts calls."""

    instances = 0

    def __init__(self, step=1):
        self.step = step
        self.total = 0

    def __call__(self, x):
        self.total += self.step
        return x + self.total

    def __len__(self):
        return 3

    def __getitem__(self, index):
        return index * self.step

    def __contains__(self, item):
        return item == self.step


class Vector:
    """Has operators."""

    def __init__(self, value):
        self.value = value

    def __add__(self, other):
        return Vector(self.value + getattr(other, "value", other))

    def __radd__(self, other):
        return Vector(other + self.value * 10)

    def __mul__(self, factor):
        return Vector(self.value * factor)

    def __neg__(self):
        return Vector(-self.value)

    def __iadd__(self, other):
        self.value = self.value + other
        return self

    def __eq__(self, other):
        return isinstance(other, Vector) and self.value is other.value

    def __matmul__(self, other):
        return (self.value * other.value).sum()

    __hash__ = None


class Base:
    factor = 2
    names = ["base"]

    def __init__(self, bias=0):
        self.bias = bias

    def apply(self, x):
        return x * self.factor + self.bias

    def describe(self):
        return f"{type(self).__name__}:{self.factor}"

    @classmethod
    def make(cls, bias):
        return cls(bias)

    @staticmethod
    def halve(x):
        return x / 2

    @property
    def doubled(self):
        return self.bias * 2

    @doubled.setter
    def doubled(self, value):
        self.bias = value // 2


class Derived(Base):
    factor = 5

    def __init__(self, bias=0, extra=1):
        super().__init__(bias)
        self.extra = extra

    def apply(self, x):
        return super().apply(x) + self.extra


class Mixin:
    def apply(self, x):
        return super().apply(x) * 100


class Mixed(Mixin, Derived):
    pass


@program(rand(3), Counter(2))
def callable_object(x, counter):
    return counter(counter(x)), counter.total, counter[4], len(counter), 2 in counter


@program(rand(3), Counter(2))
def mutated_argument(x, counter):
    counter.total = counter.total + 5
    counter.last = x * 2
    del counter.step
    return counter.last + counter.total


@program(rand(3))
def new_object(x):
    counter = Counter()
    y = counter(x)
    return y, counter, counter.total


@program(rand(3))
def operators(x):
    v = Vector(x)
    w = v + Vector(x * 2) + 1
    u = 3 + v
    same = v == v, v == w, v != w
    return w.value, u.value, (-v * 2).value, v @ w, same


@program(rand(3))
def in_place_operator(x):
    v = w = Vector(x)
    v += 1
    return v is w, w.value


@program(rand(3), Derived(1, 2)).then(rand(3), Base(3)).then(rand(3), Mixed(1))
def inheritance(x, model):
    kinds = isinstance(model, Base), isinstance(model, (Mixin, int))
    return model.apply(x), model.describe(), kinds, type(model) is Base


@program(rand(3))
def class_and_static_methods(x):
    made = Derived.make(4)
    return made.bias, Base.halve(x), made.halve(x), Derived.factor, made.apply(x)


@program(rand(3), Base(3))
def properties(x, base):
    base.doubled = 10
    return x + base.doubled, base.bias


@program(rand(3))
def class_attribute_is_changed(x):
    Counter.instances += 1
    return x + Counter.instances


@program(rand(3))
def class_list_is_changed(x):
    Base.names.append(str(len(Base.names)))
    return x + len(Derived.names)


@program(rand(3), Base())
def instance_hides_class_attribute(x, base):
    before = base.factor
    base.factor = 9
    return x * base.factor, before, Base.factor


class Slotted:
    __slots__ = ("a", "b")

    def __init__(self, a, b):
        self.a = a
        self.b = b


@program(rand(3), Slotted(1, rand(3)))
def slots(x, s):
    s.a = s.a + 1
    made = Slotted(x, s.b)
    return x + s.a + s.b, made, hasattr(made, "c")


@program(rand(3), Slotted(1, 2))
def slots_reject_other_names(x, s):
    s.c = x
    return s


class Proxy:
    def __init__(self):
        self.known = 1

    def __getattr__(self, name):
        if name.startswith(("missing", "__")):
            raise AttributeError(name)
        return len(name)


@program(rand(3), Proxy())
def dynamic_attributes(x, p):
    return x + p.known + p.four, getattr(p, "missing", 7), hasattr(p, "missing_too")


@program(rand(3), Proxy())
def missing_attribute(x, p):
    return x + p.missing


class Recording:
    def __init__(self):
        object.__setattr__(self, "log", [])

    def __setattr__(self, name, value):
        self.log.append(name)
        object.__setattr__(self, name, value)

    def __delattr__(self, name):
        self.log.append("-" + name)
        object.__delattr__(self, name)


@program(rand(3), Recording())
def set_attribute_hook(x, r):
    r.a = x
    r.b = x + 1
    del r.a
    return r.b, r.log


class Doubling:
    """A descriptor."""

    def __set_name__(self, owner, name):
        self.name = "_" + name

    def __get__(self, obj, owner=None):
        return self if obj is None else getattr(obj, self.name, 0) * 2

    def __set__(self, obj, value):
        setattr(obj, self.name, value)


class Described:
    size = Doubling()

    @functools.cached_property
    def costly(self):
        return self.size + 1


@program(rand(3), Described())
def descriptors(x, d):
    d.size = 4
    return x + d.size, d._size, isinstance(Described.size, Doubling)


@program(rand(3), Described())
def cached_property(x, d):
    d.size = x
    return d.costly, d.costly is d.costly, "costly" in vars(d)


class Items:
    def __init__(self, *items):
        self.items = list(items)

    def __iter__(self):
        return iter(self.items)

    def __setitem__(self, index, value):
        self.items[index] = value

    def __delitem__(self, index):
        del self.items[index]

    def __bool__(self):
        return len(self.items) > 1

    def __reversed__(self):
        return reversed(self.items)


@program(rand(3), Items(1, 2, 3))
def container_protocol(x, items):
    items[0] = x
    del items[1]
    return list(items), [*reversed(items)], bool(items), x if items else -x


class Countdown:
    def __init__(self, n):
        self.n = n

    def __iter__(self):
        return self

    def __next__(self):
        if self.n == 0:
            raise StopIteration
        self.n -= 1
        return self.n


@program(rand(3), Countdown(4))
def user_iterator(x, countdown):
    first = next(countdown)
    for i in countdown:
        x = x * 2 + i
    return x, first, countdown.n


@program(rand(3))
def class_made_inside(x):
    class Local(Base):
        factor = 7

        def twice(self, y):
            return self.apply(self.apply(y))

    return Local(1).twice(x), Local.__name__


class Registry(type):
    """A metaclass."""

    members = []

    def __call__(cls, *args):
        made = super().__call__(*args)
        made.tag = cls.__name__.lower()
        return made

    @property
    def size(cls):
        return len(cls.__name__)


class Tagged(metaclass=Registry):
    def __init__(self, value=0):
        self.value = value


@program(rand(3))
def metaclass(x):
    made = Tagged(x)
    return made.value, made.tag, Tagged.size, type(Tagged) is Registry


class Listed(list):
    def total(self):
        return sum(self)


class Named(dict):
    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    def __setattr__(self, name, value):
        self[name] = value


@program(rand(3), Listed([1, 2]), Named(a=1))
def subclasses_of_builtins(x, items, table):
    items.append(3)
    table.b = x * 2
    table["c"] = table.a + 1
    return items.total(), table.b, list(table), isinstance(items, list)


@program(rand(3))
def new_subclass_of_builtin(x):
    items = Listed([x, x + 1])
    items.extend([x * 2])
    table = Named(z=x)
    return items, items.total(), table, table.z


class Number(int):
    def shout(self):
        return f"{int(self)}!"


@program(rand(3), Number(4))
def subclass_of_int(x, n):
    return x + n, n.shout(), n + 1


class Text(str):
    pass


@program(rand(3), Text("ab"))
def subclass_of_str(x, text):
    return x + len(text), text.upper(), text == "ab", {"ab": 1}[text]


class Singleton:
    instance = None

    def __new__(cls, *args):
        made = super().__new__(cls)
        made.args = args
        return made


@program(rand(3))
def new_is_overridden(x):
    return Singleton(x, 2).args, Singleton().args


@program(rand(3), Base(1))
def attribute_functions(x, base):
    setattr(base, "late", 5)
    got = getattr(base, "late"), getattr(base, "nope", None), hasattr(base, "bias")
    delattr(base, "late")
    return x, got, hasattr(base, "late"), sorted(vars(base))


@program(rand(3), Base(1))
def method_is_replaced(x, base):
    base.apply = lambda y: y - 100
    return base.apply(x), Base.apply(base, x)


@program(rand(3), Base(1))
def bound_methods(x, base):
    apply = base.apply
    base.bias = 50
    unbound = Base.apply
    return apply(x), unbound(base, x), apply.__name__, apply.__self__ is base


@program(rand(3), Base(1), Base(1))
def identity_of_objects(x, a, b):
    c = a
    return a is c, a is b, a == b, a != c, x + 1 if a is not b else x


_SHARED = Base(3)


@program(rand(3), _SHARED, _SHARED)
def same_object_twice(x, a, b):
    a.bias = 10
    return x + b.bias, a is b


@program(rand(3), Base(torch.ones(3)))
def tensor_attribute(x, base):
    base.bias = base.bias + x
    base.bias.mul_(2)
    return base.apply(x)


@program(rand(3), Base(torch.ones(3)))
def tensor_attribute_in_place(x, base):
    base.bias += x
    return base.apply(x)


class Formatted:
    def __repr__(self):
        return "Formatted()"

    def __str__(self):
        return "formatted"

    def __format__(self, spec):
        return f"<{spec}>"

    def __int__(self):
        return 7

    def __float__(self):
        return 2.5

    def __index__(self):
        return 2

    def __hash__(self):
        return 11


@program(rand(3), Formatted())
def conversions(x, f):
    text = f"{f} {f!r} {f:abc} {f!s}", str(f), repr(f)
    return x[f], int(f), float(f), [0, 1, 2][f], hash(f), text


class Ordered:
    def __init__(self, rank):
        self.rank = rank

    def __lt__(self, other):
        return self.rank < other.rank


@program(rand(3), [Ordered(3), Ordered(1), Ordered(2)])
def ordering(x, items):
    ranks = [item.rank for item in sorted(items)]
    return x, ranks, min(items).rank, max(items).rank, items[0] > items[1]


class Abstract:
    def apply(self, x):
        raise NotImplementedError(type(self).__name__)


@program(rand(3), Abstract())
def not_implemented(x, model):
    return model.apply(x)


class Node:
    def __init__(self, value, next=None):
        self.value = value
        self.next = next


@program(rand(3), Node(1, Node(2, Node(3))))
def linked_list(x, node):
    while node is not None:
        x = x * node.value + 1
        node = node.next
    return x


@program(rand(3))
def linked_list_is_built(x):
    head = None
    for i in range(3):
        head = Node(x * i, head)
    head.next.next.next = head
    return head
