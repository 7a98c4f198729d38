"""Breaks inside methods, properties, operators and other special methods."""

from differential.program import program, rand


class Base:
    def __init__(self, n):
        print("base")
        self.n = n

    def apply(self, x):
        y = x + self.n
        print("base apply")
        return y * 2

    @property
    def size(self):
        print("size")
        return self.n

    @size.setter
    def size(self, n):
        print("set size")
        self.n = n

    @classmethod
    def make(cls, n):
        print(cls.__name__)
        return cls(n)

    @staticmethod
    def shift(x):
        print("shift")
        return x + 1


class Child(Base):
    def __init__(self, n):
        super().__init__(n + 1)
        print("child")
        self.m = n

    def apply(self, x):
        y = super().apply(x) + self.m
        print("child apply")
        return super().apply(y)


class Number:
    """Breaks in all its special methods."""

    def __init__(self, v):
        self.v = v

    def __add__(self, other):
        print("add")
        return Number(self.v + getattr(other, "v", other))

    def __radd__(self, other):
        print("radd")
        return Number(other + self.v)

    def __iadd__(self, other):
        print("iadd")
        self.v = self.v + other
        return self

    def __getitem__(self, key):
        print("get", key)
        return self.v * key

    def __setitem__(self, key, value):
        print("set", key)
        self.v = value

    def __delitem__(self, key):
        print("del", key)

    def __call__(self, x, scale=1):
        print("call")
        return x * self.v * scale

    def __eq__(self, other):
        print("eq")
        return self.v == other

    def __lt__(self, other):
        print("lt")
        return self.v < other.v

    def __bool__(self):
        print("bool")
        return self.v != 0

    def __len__(self):
        print("len")
        return self.v

    def __contains__(self, item):
        print("contains")
        return item == self.v

    def __getattr__(self, name):
        print("getattr", name)
        if name.startswith("no"):
            raise AttributeError(name)
        return name

    def __neg__(self):
        print("neg")
        return Number(-self.v)

    def __hash__(self):
        print("hash")
        return hash(self.v)

    def __iter__(self):
        print("iter")
        return iter(range(self.v))

    def __str__(self):
        print("str")
        return f"<{self.v}>"

    def __index__(self):
        print("index")
        return self.v


class Described:
    """A descriptor that breaks."""

    def __get__(self, owner, cls):
        print("descriptor get")
        return owner.__dict__["hidden"]

    def __set__(self, owner, value):
        print("descriptor set")
        owner.__dict__["hidden"] = value


class Owner:
    described = Described()

    def __init__(self, value):
        self.described = value


def made(cls, n):
    """An object whose constructor did not run."""
    obj = cls.__new__(cls)
    obj.n = obj.m = n
    return obj


@program(rand(3), made(Child, 2))
def methods_and_super(x, child):
    return child.apply(x) + 1


@program(rand(3))
def constructors(x):
    child = Child(1)
    return child.apply(x), child.n, child.m


@program(rand(3))
def class_and_static_methods(x):
    return Child.make(2).apply(Base.shift(x)), Child.shift(x + 1)


@program(rand(3), made(Base, 2))
def properties(x, base):
    y = x * base.size
    base.size = 5
    base.size += 1
    return y + base.size


@program(rand(3))
def operators(x):
    a = Number(x) + 1
    b = 2 + a
    b += x
    return (a + b).v, (-b).v


@program(rand(3))
def items(x):
    n = Number(x)
    y = n[2]
    n[1] = y + 1
    del n[0]
    n[3] += 1
    return n.v, y


@program(rand(3))
def called_objects(x):
    n = Number(2)
    return n(x), n(x, scale=3) + 1


@program(rand(3))
def truth_and_length(x):
    n = Number(2)
    if n:
        x = x + 1
    if not Number(0) and Number(3):
        x = x * 2
    return x, len(n), 2 in n, bool(n) or 5, [*n]


@program(rand(3))
def comparisons(x):
    a, b = Number(2), Number(3)
    first = x * 2 if a < b else x
    return first, a == 2, b == 2, sorted([b, a])[0] is a, max(a, b) is b


@program(rand(3))
def missing_attributes(x):
    n = Number(2)
    found = n.extra, hasattr(n, "none"), getattr(n, "not_there", 5)
    return x + n.v, found


@program(rand(3))
def text_hash_and_index(x):
    n = Number(2)
    return f"{n}", str(n), {n: 1}[n], [5, 6, 7][n], x + 1


@program(rand(3))
def descriptors(x):
    owner = Owner(x + 1)
    y = owner.described * 2
    owner.described = y
    return owner.described + 1
