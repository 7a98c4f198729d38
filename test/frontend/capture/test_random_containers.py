"""Random changes of containers and objects, captured with and without breaks."""

import collections
import random

import pytest
import torch

import girih


class Wrapping(dict):
    def __setitem__(self, key, value):
        super().__setitem__(key, (value,))


class Items(list):
    pass


class Members(set):
    pass


class Ordered(collections.OrderedDict):
    pass


class Holder:
    def __init__(self):
        self.a = 1
        self.b = [2]


# V is a value, K a small number, S a key.
_LIST = """c.append(V)
c.extend([V, 1])
c.insert(K, V)
c and c.pop()
c[:] = c[::-1]
c.sort(key=str)
c.reverse()
c *= 2
c += [V]
del c[:1]
c.clear()
seen.append(list(c))
seen.append(c == [1])
seen.append(c[K % len(c)] if c else None)
seen.append(c.copy())"""
_DICT = """c[S] = V
c.pop(S, None)
c.setdefault(S, V)
c.update({S: V, "q": 1})
c and c.popitem()
c |= {"z": V}
c.clear()
c.pop("a", 0); c["a"] = V
seen.append(list(c.items()))
seen.append(S in c)
seen.append(c.get(S))
seen.append(dict(c))
seen.append(sorted(c.keys() & {"a", "b", "q"}))
seen.append(c.copy())"""
_ORDERED = """c.move_to_end("a") if "a" in c else None
c.move_to_end("b", last=False) if "b" in c else None
c and c.popitem(last=False)"""
_SET = """c.add(K)
c.discard(K)
c.update([K, 3])
c |= {K, 9}
c -= {K}
c ^= {K}
c &= set(range(40))
c.clear()
c.intersection_update([1, 2, 3, K])
seen.append(sorted(c))
seen.append(c <= {1, 2, 3})
seen.append(sorted(c | {5}))
seen.append({5} - c)"""
_DEQUE = """c.append(V)
c.appendleft(V)
c.extend([V, K])
c.extendleft([V, K])
c and c.pop()
c and c.popleft()
c.rotate(K)
c.reverse()
c += [V]
c.clear()
c.insert(0, V) if c.maxlen is None else None
seen.append(list(c))
seen.append(c.copy())"""
_COUNTER = """c.update("ab")
c[S] += 1
c.subtract("a")
seen.append(c.most_common(2))
seen.append(c + collections.Counter("a"))
seen.append(sorted(c.elements()))"""
_OBJECT = """c.a = V
c.b.append(V)
c.z = V
delattr(c, "z") if hasattr(c, "z") else None
seen.append(vars(c).copy())
c.__dict__["y"] = V
c.__dict__.update(a=V)
seen.append(getattr(c, "y", None))"""

KINDS = {
    "list": (lambda: [1, 2, 3], _LIST),
    "list subclass": (lambda: Items([1, 2]), _LIST),
    "dict": (lambda: {"a": 1, "b": 2}, _DICT),
    "dict subclass": (lambda: Wrapping(a=1, b=2), _DICT),
    "ordered": (lambda: collections.OrderedDict(a=1, b=2), f"{_DICT}\n{_ORDERED}"),
    "ordered subclass": (lambda: Ordered(a=1, b=2, c=3), f"{_DICT}\n{_ORDERED}"),
    "default": (lambda: collections.defaultdict(list, a=[1]), "c[S].append(V)"),
    "set": (lambda: {1, 2, 33}, _SET),
    "set subclass": (lambda: Members([1, 2, 33]), _SET),
    "deque": (lambda: collections.deque([1, 2, 3]), _DEQUE),
    "short deque": (lambda: collections.deque([1, 2, 3], maxlen=4), _DEQUE),
    "counter": (lambda: collections.Counter("aabc"), _COUNTER),
    "object": (Holder, _OBJECT),
}


def _program(source: random.Random, operations: list[str]) -> str:
    lines = []
    for _ in range(source.randint(2, 7)):
        line = source.choice(operations)
        value = "3" if "sort" in line else source.choice(["1", "2", "x", "n", "'s'"])
        line = line.replace("V", value).replace("K", str(source.randint(0, 40)))
        lines.append(line.replace("S", repr(source.choice("abqz"))))
        if source.random() < 0.2:
            lines.append("print('', end='')")  # a break
    body = "\n    ".join(["seen = []", *lines, "return x + 1, seen, c"])
    return f"def function(x, c, n):\n    {body}\n"


def _described(value):
    if isinstance(value, torch.Tensor):
        return "tensor", value.tolist()
    if isinstance(value, Holder):
        return _described(vars(value))
    if isinstance(value, dict):
        value = type(value), [(key, _described(item)) for key, item in value.items()]
        return value
    if isinstance(value, (list, tuple, collections.deque)):
        return type(value), [_described(item) for item in value]
    return type(value), value


def _outcome(function, made, n):
    try:
        found = function(torch.ones(2), made, n)
    except Exception as error:
        return type(error), str(error), _described(made)
    return _described(found), found[2] is made, _described(made)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", KINDS)
def test_random_changes(kind, seed):
    make, operations = KINDS[kind]
    text = _program(random.Random(f"{kind} {seed}"), operations.split("\n"))
    namespace = {"collections": collections}
    exec(compile(text, "<random>", "exec"), namespace)
    plain = namespace["function"]
    compiled = girih.compile(plain, backend="eager")
    for n in (4, 4, 5):
        expected, actual = (_outcome(f, make(), n) for f in (plain, compiled))
        assert actual == expected, text
