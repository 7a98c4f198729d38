"""Functions that are stopped anywhere and continued: see frame_driver."""

import collections
import contextlib
import sys

PROGRAMS = []


def program(*args, **kwargs):
    def register(function):
        PROGRAMS.append((function, args, kwargs))
        return function

    return register


@contextlib.contextmanager
def region(log, name, swallow=()):
    log.append(f"enter {name}")
    try:
        yield name
    except swallow as error:
        log.append(f"swallowed {error!r}")
    finally:
        log.append(f"leave {name}")


def handled():
    return repr(sys.exc_info()[1])


@program(7)
@program(0)
def loops(n):
    total = 0
    for i in range(n):
        if i == 2:
            continue
        if i > 5:
            break
        total += i
    else:
        total = -1
    while n > 0:
        n -= 2
    return total, n


@program([3, 0, "x", 2])
def handlers(values):
    seen = []
    for value in values:
        try:
            try:
                seen.append(6 // value)
            except ZeroDivisionError as error:
                seen.append(repr(error))
                seen.append(handled())
            else:
                seen.append("else")
            finally:
                seen.append("finally")
        except TypeError:
            seen.append(handled())
        seen.append(handled())
    return seen


@program()
def nested_handlers():
    log = []
    try:
        raise ValueError("first")
    except ValueError as first:
        try:
            raise KeyError("second") from first
        except KeyError as second:
            log.append((repr(second.__cause__), handled()))
            try:
                log.append(1 // 0)
            except ZeroDivisionError as third:
                log.append((repr(third.__context__), handled()))
            log.append(handled())
        log.append(handled())
    log.append(handled())
    return log


@program(0)
@program(1)
@program(2)
def raises_out(kind):
    log = []
    try:
        if kind == 0:
            raise ValueError("out")
        log.append(handled())
        return {}[kind]
    except KeyError:
        if kind == 2:
            raise
        raise RuntimeError("converted") from None
    finally:
        log.append(len(log))


@program(3)
def return_in_finally(n):
    for i in range(n):
        try:
            if i == 1:
                return "early", i
            continue
        finally:
            if n == 2:
                return "finally"  # noqa: B012
    return "late"


@program(ValueError)
@program(KeyError)
@program(None)
def with_blocks(error):
    log = []
    with region(log, "outer", KeyError) as a, region(log, "inner") as b:
        log.append((a, b, handled()))
        if error:
            raise error("inside")
        log.append("end")
    log.append(handled())
    return log


@program()
def with_return():
    log = []
    for i in range(3):
        with region(log, f"r{i}"):
            if i == 1:
                return log
            log.append(i)
    return None


@program(4)
def closures(n):
    total = 0
    step = 1

    def add(by):
        nonlocal total
        total += by * step
        return total

    for i in range(n):
        add(i)
        step += 1
    return total, add(1), [k() for k in [lambda i=i: i + total for i in range(n)]]


@program(2, 3)
def cell_arguments(x, y=1, *rest, z=4, **more):
    def change(value):
        nonlocal x, z
        x, z = x + value, z - value
        return x * y

    first = change(1)
    return first, change(2), x, y, z, rest, more, locals().keys() - {"change"}


def free_variables():
    outside = [1, 2]
    count = 0

    @program(5)
    def inner(n):
        nonlocal count
        count = 1
        count += n
        local = n

        def innermost():
            return local + count + len(outside)

        local += 1
        return innermost(), outside

    return inner


free_variables()


@program([4, 1, 3])
def comprehensions(values):
    k = 2
    x = "kept"
    squares = [x * x for x in values if x > 1]
    mapping = {x: [y + k for y in range(x)] for x in values}
    unique = {x % k for x in values}
    lazy = sum(x for x in values)
    late = [lambda: x for x in values]  # noqa: B023
    return squares, mapping, unique, lazy, [f() for f in late], x


@program()
def comprehension_that_raises():
    x = "kept"
    log = []
    try:
        [log.append(6 // x) for x in (2, 0)]
    except ZeroDivisionError:
        log.append(x)
    return log, x


def keywords(a, b=2, *args, c, d=4, **more):
    return a, b, args, c, d, tuple(sorted(more.items()))


@program([5, 6], {"d": 7})
def calls(args, more):
    return (
        keywords(1, c=3),
        keywords(1, 2, 3, 4, c=5, e=6),
        keywords(*args, c=1, **more),
        keywords(*args, *args, c=keywords(1, c=keywords(*args, c=0), **more)),
        max(args, key=lambda v: -v),
        "{}-{x}".format(*args, x=1),
    )


@program(3)
def deep_stack(n):
    def f(*args):
        return sum(args)

    return f(n, f(1, f(n, 2, f(3, n)), n), [n, (n, {"k": f(n, f(n))})][0], f(4)) + (
        n if f(n) > 100 else f(n, 1 if n else 2)
    )


def fails(*args, **kwargs):
    raise KeyError(args, kwargs)


@program([1], {"a": 2})
def callees_that_raise(args, kwargs):
    seen = []
    for way in range(5):
        try:
            if way == 0:
                fails()
            elif way == 1:
                fails(1, a=3)
            elif way == 2:
                fails(*args, **kwargs)
            elif way == 3:
                [fails(x) for x in args]
            else:
                with region(seen, "r"):
                    seen.append(fails(seen[0]))
        except KeyError as error:
            seen.append(repr(error))
    return seen


class Base:
    def __init__(self, value):
        self.value = value

    def method(self, other):
        return self.value + other

    @property
    def doubled(self):
        return 2 * self.value

    def __call__(self, *args):
        return (self.value, *args)


class Derived(Base):
    def __init__(self, value):
        super().__init__(value + 1)
        self.hook = lambda: "hook"

    def method(self, other):
        found = super().method(other)
        keep = lambda: (self, found)  # noqa: E731
        return super().method(keep()[1]) + super().doubled


@program(5)
def methods(value):
    thing = Derived(value)
    thing.value += 1
    thing.extra = [thing.hook(), thing.doubled, thing(1, 2)]
    del thing.hook
    return thing.method(3), thing.extra, "a,b".split(","), thing.extra.append(1)


program(Derived(3), 4)(Derived.method)


@program(2)
def class_body(n):
    class Local:
        size = n

        def get(self):
            return self.size + n, __class__.__name__

    return Local().get(), Local.size


@program({"kind": "point", "at": [1, 2, 3]})
@program({"kind": "none"})
@program((1, 2))
@program(Base(3))
@program("text")
def matching(subject):
    match subject:
        case {"kind": "point", "at": [first, *rest]}:
            return first, rest
        case {"kind": kind, **others}:
            return kind, others
        case (a, b) if a < b:
            return b, a
        case Base(value=3):
            return "base"
        case str() as text:
            return text
    return None


@program([1, 2, 3, 4])
def unpacking(values):
    first, *middle, last = values
    (a, b), c = (first, last), middle
    a, b = b, a
    values[1:3] = [9]
    if (n := len(values)) > 2:
        values[0] += n
    del values[-1]
    del middle
    x = y = z = n
    x, y, z = z, x + 1, y + 2
    return first, last, a, b, c, values, f"{n!r:>4}{a=}{x}{y}{z:02d}", n < x < y or z


@program(1)
@program(0)
def conditions(flag):
    a = flag and [] or "x"
    b = None if flag else 3
    c = b is None or b is not None and a
    d = not flag, flag in (1, 2), -flag, ~flag, +flag, flag @ Matrix() if flag else 0
    assert c, "message"
    return a, b, c, d


class Matrix:
    def __rmatmul__(self, other):
        return "matmul"

    def __bool__(self):
        return False

    def __iter__(self):
        yield 1
        raise LookupError("in the iterator")


@program()
def slow_truth():
    m = Matrix()
    found = []
    if m:
        found.append("true")
    while not m and len(found) < 2:
        found.append(bool(m))
    return found, [1] if m or found else 2


@program()
def raising_iterator():
    seen = []
    try:
        for item in Matrix():
            seen.append(item)
    except LookupError:
        seen.append(handled())
    try:
        a, b = Matrix()
    except LookupError:
        seen.append("unpacked")
    return seen, list(collections.ChainMap({"a": 1}))


@program(True)
@program(False)
def unbound(flag):
    if flag:
        value = 1
    try:
        return value
    except UnboundLocalError as error:
        missing = str(error)
        del error
        return missing


@program()
def deleting():
    a, b = 1, [2]
    del a
    try:
        del a  # noqa: F821
    except NameError:
        a = 3
    global shared
    shared = a
    found = shared
    del shared
    return a, b, found, "shared" in globals()


@program(2)
def own_locals(n):
    hidden = n + 1
    before = dict(locals())
    text = "{n} {hidden}".format(**locals())
    return before, text, sorted(vars()), dir(), eval("hidden + n"), locals()


@program()
def imports():
    import collections.abc as abc
    import os.path
    from itertools import chain as linked
    from itertools import islice

    return list(islice(linked([1], [2, 3]), 2)), os.path.basename("a/b"), abc.Sized


@program(4)
def recursion(n):
    return 1 if n == 0 else n * recursion(n - 1)


def counting(n):
    log = []
    try:
        for i in range(n):
            got = yield i
            log.append(got)
    finally:
        log.append("closed")
    return log


@program(4)
def uses_generators(n):
    generator = counting(n)
    found = [next(generator), generator.send("sent")]
    found.extend(generator)
    rest = (i * n for i in range(n))
    next(rest)
    return found, list(rest)


@program()
def groups():
    log = []
    try:
        raise ExceptionGroup("all", [ValueError(1), KeyError(2), TypeError(3)])
    except* ValueError as found:
        log.append(repr(found))
    except* KeyError:
        log.append(handled())
    except* TypeError:
        log.append("type")
    log.append(handled())
    return log


@program()
def group_that_stays():
    log = []
    try:
        try:
            raise ExceptionGroup("all", [ValueError(1), KeyError(2)])
        except* ValueError:
            log.append("value")
    except ExceptionGroup as rest:
        log.append(repr(rest))
    return log


def _wide():
    """A function with more than 255 names, constants and cells, and long jumps."""
    lines = ["def wide(n):", "    total = 0"]
    lines += [f"    v{i} = n + {i + 1000}" for i in range(270)]
    lines += ["    for i in range(3):", "        if i == 1:", "            continue"]
    lines += [f"        v{i} += v{i + 1} * i" for i in range(200)]
    lines += ["        total = max(total, v199)"]
    captured = ", ".join(f"v{i}" for i in range(260, 270))
    lines += [f"    inner = lambda: ({captured}, total)"]
    lines += ["    total += names.name_0(v0).n300"]
    lines += ["    every = dict(locals())"]
    lines += ["    return total, inner(), sum(every[f'v{i}'] for i in range(270))"]
    names = " ".join(f"name_{i}" for i in range(300))
    lines.insert(1, f"    if n < 0: {'; '.join(names.split())}")
    return "\n".join(lines)


class _Names:
    n300 = 7

    def name_0(self, value):
        self.value = value
        return self


_SPACE = {"names": _Names()}
exec(compile(_wide(), __file__, "exec"), _SPACE)
program(3)(_SPACE["wide"])


def _crossing():
    """A function whose cells get places beyond 255 when more is passed."""
    lines = ["def crossing(n):"]
    lines += [f"    v{i} = n + {i}" for i in range(248)]
    lines += ["    for i in range(2):", "        v247 += v246 * i"]
    lines += ["    inner = lambda: (n, v247, v246, v245)"]
    lines += ["    v246 = max(v247, len(str(v244)))"]
    lines += ["    return inner(), v246, v243"]
    return "\n".join(lines)


exec(compile(_crossing(), __file__, "exec"), _SPACE)
program(3)(_SPACE["crossing"])


@program(3)
def pairs_of_cells(n, b1=0, b2=0, b3=0, b4=0, b5=0, b6=0, b7=0, b8=0, b9=0):
    first, second = n, n + 1

    def both():
        return first, second

    made = [lambda: (i, j, first) for i in range(n) for j in range(i)]  # noqa: B023
    first, second = second, first
    return both(), [one() for one in made], b1 + b9, max(both(), key=lambda v: -v)
