"""Lists, tuples, dicts, sets, slices, ranges."""

from differential.program import program, rand


@program(rand(3))
def list_methods(x):
    items = [x]
    items.append(x + 1)
    items.extend([x * 3, x * 4])
    items.insert(0, x * 5)
    last = items.pop()
    items += [last, last]
    items.reverse()
    return items, len(items), items.pop(0)


@program(rand(3))
def list_methods_on_numbers(x):
    items = [3, 1, 2, 1]
    items.remove(1)
    items.sort()
    other = items.copy()
    other.clear()
    return x + items.index(2), items.count(1), items, other


@program(rand(3))
def list_operators(x):
    items = [1, 2] + [3]
    twice = items * 2
    compare = (
        items == [1, 2, 3],
        items < [1, 2, 4],
        [] != [1],
        2 in items,
        9 not in items,
    )
    return x + sum(twice), twice, compare


@program(rand(3), [1, 2, 3, 4, 5])
def list_slices(x, items):
    head, tail = items[:2], items[-2:]
    items[1:3] = [x, x, x]
    del items[-1:]
    items[::2] = [7, 8, 9] if len(items[::2]) == 3 else []
    return head, tail, items[::-1]


@program(rand(3), [3, 1, 2])
def list_sorts(x, items):
    items.sort(key=lambda v: -v)
    words = sorted(["bb", "a", "ccc"], key=len, reverse=True)
    return x, items, words, sorted("hello")


@program(rand(3), [1, 2])
def list_argument_is_changed(x, items):
    items.append(x * 2)
    items[0] = "changed"
    return x + items[1]


@program(rand(3), [1, 2])
def list_argument_is_returned(x, items):
    items += [x]
    return items, items is items


_PAIR = [1]


@program(rand(3), [_PAIR, _PAIR])
def list_shares_items(x, items):
    items[0].append(5)
    return x + items[1][-1], items[0] is items[1]


@program(rand(3))
def list_holds_itself(x):
    items = [x]
    items.append(items)
    return items


@program(rand(3))
def list_is_aliased(x):
    a = b = []
    a.append(x)
    c = list(a)
    c.append(x + 1)
    return a, b, c, a is b, a is c


@program(rand(3))
def list_errors(x):
    found = []
    for action in (
        lambda: [].pop(),
        lambda: [1][5],
        lambda: [1].remove(2),
        lambda: [1].index(2),
        lambda: [1] + (2,),
    ):
        try:
            action()
        except (IndexError, ValueError, TypeError) as error:
            found.append((type(error).__name__, str(error)))
    return x, found


@program(rand(3), [1])
def list_index_out_of_range(x, items):
    items.append(2)
    return items[10]


@program(rand(3))
def tuples(x):
    t = (x, 1, (x + 1,))
    a, b, (c,) = t
    return t + (2,), t[1:], len(t), a + b + c, (1, 2).index(2), (1, 1).count(1)


@program(rand(3))
def tuple_operators(x):
    return x, (1, 2) * 2, (1, 2) < (1, 3), (1,) == (1,), 2 in (1, 2), () or (3,)


@program(rand(3), (1, (2, 3), [4]))
def tuple_argument(x, t):
    t[2].append(5)
    first, (second, third), rest = t
    return x + first + second + third + len(rest), t


@program(rand(3))
def tuple_is_constant(x):
    t = (1, 2)
    t[0] = x
    return t


@program(rand(3))
def starred_assignment(x):
    first, *middle, last = [x, 1, 2, 3]
    (*a, b), c = "xyz", 4
    head, *none = (5,)
    return first, middle, last, a, b, c, head, none


@program(rand(3))
def starred_displays(x):
    a, b = [1, 2], (3,)
    return [*a, x, *b], (*a, *b), {*a, *b}, {**{"k": x}, "j": 1}


@program(rand(3))
def unpack_too_few(x):
    a, b, c = [1, 2]
    return x


@program(rand(3))
def unpack_too_many(x):
    a, *b, c, d = [1, 2]
    e, f = x
    return a


@program(rand(3))
def dict_methods(x):
    d = {"a": x, "b": x + 1}
    d["c"] = d["a"] * 2
    d.update(e=x, f=1)
    d.update([("g", 2)])
    kept = d.setdefault("a", 5), d.setdefault("new", 6)
    popped = d.pop("e"), d.pop("nope", None), d.popitem()
    return d, kept, popped, d.get("zz"), d.get("f", 0), "a" in d, len(d)


@program(rand(3))
def dict_views(x):
    d = {"a": 1, "b": 2}
    keys, values, items = d.keys(), d.values(), d.items()
    d["c"] = 3
    both = d.keys() & {"a", "z"}, d.keys() - {"a"}
    return x, list(keys), list(values), list(items), both, ("a", 1) in items


@program(rand(3))
def dict_merges(x):
    d = {"a": 1} | {"b": x}
    d |= {"a": 2}
    return d, {**d, "c": 3}, dict(d, z=1), dict([(1, 2)]), dict.fromkeys("ab", 0)


@program(rand(3))
def dict_order(x):
    d = {"a": 1, "b": 2, "c": 3}
    del d["a"]
    d["a"] = 4
    d["b"] = 5
    return x, list(d), list(reversed(d)), [*d.items()]


@program(rand(3), {"a": 1, "b": [2]})
def dict_argument_is_changed(x, d):
    d["c"] = x * 2
    d["a"] += 1
    d["b"].append(3)
    return d.pop("c") + d["a"]


@program(rand(3), {"a": 1})
def dict_argument_is_returned(x, d):
    d["x"] = x
    return d


@program(rand(3), {"w": rand(3), "b": rand(3)}).then(rand(3), {"w": rand(3)})
def dict_of_tensors(x, d):
    y = x * d["w"]
    if "b" in d:
        y = y + d["b"]
    for name, value in d.items():
        y = y + value * len(name)
    return y


@program(rand(3))
def dict_keys_of_many_types(x):
    d = {1: "int", "1": "str", (1, 2): "tuple", None: "none", 2.5: "float", len: "f"}
    return x, d[1], d[True], d[1.0], d["1"], d[1, 2], d[None], d[2.5], d[len]


@program(rand(3), {})
def dict_missing_key(x, d):
    d["a"] = x
    return d["b"]


@program(rand(3))
def dict_changes_while_iterated(x):
    d = {"a": 1, "b": 2}
    for key in d:
        d[key + "x"] = 1
    return x


@program(rand(3))
def dict_is_cleared(x):
    d = {"a": x}
    e = d.copy()
    d.clear()
    return d, e, d == {}, {"a": 1} == {"a": 1.0}


@program(rand(3))
def dict_unhashable_key(x):
    return {[1]: x}


@program(rand(3))
def tensor_as_key(x):
    y = x + 1
    d = {x: 1, y: 2}
    return d[x] + d[y], x in d, x


@program(rand(3))
def nested_containers(x):
    tree = {"a": [x, {"b": (x + 1, [x + 2])}]}
    tree["a"][1]["b"][1].append(x + 3)
    return tree, tree["a"][1]["b"][1][0]


@program(rand(3))
def sets(x):
    s = {1, 2, 3}
    s.add(4)
    s.discard(1)
    s.discard(100)
    s.update([7, 8])
    s.remove(7)
    return x + sum(s), s, len(s), 3 in s


@program(rand(3))
def set_operators(x):
    a, b = {1, 2, 3}, {2, 3, 4}
    compare = a <= b, {2} < a, a >= {1}, a == {3, 2, 1}, a.isdisjoint({9})
    return x, a & b, a | b, a - b, a ^ b, compare, a.union([8]), a.issubset({1})


@program(rand(3))
def set_in_place(x):
    a = {1, 2, 3}
    alias = a
    a &= {2, 3}
    a |= {5}
    a -= {2}
    a ^= {9}
    return x, a, alias is a


@program(rand(3), {1, 2})
def set_argument_is_changed(x, s):
    s.add(len(s))
    s.discard(1)
    return x + len(s)


@program(rand(3), frozenset([1, 2]))
def frozen_sets(x, s):
    return x + len(s), s | {3}, {s: 1}[frozenset([2, 1])], frozenset("a") < {"a", "b"}


@program(rand(3))
def set_remove_missing(x):
    {1}.remove(2)
    return x


@program(rand(3))
def set_removes_duplicates(x):
    return x, {1, 1.0, True}, len({"a", "b", "a"}), set("hello"), set()


@program(rand(3, 4))
def slices(x):
    s = slice(1, None)
    t = slice(0, 4, 2)
    return x[s, t], [1, 2, 3][s], t.start, t.step, t.indices(3), slice(2) == slice(2)


@program(rand(3))
def ranges(x):
    r = range(2, 10, 3)
    facts = len(r), r[1], r[-1], 5 in r, list(r), r.start, r.stop, r.step
    return x + sum(r), facts, list(reversed(r)), r[1:], range(3) == range(0, 3)


@program(rand(3), range(3)).then(rand(3), range(1, 5))
def range_argument(x, r):
    for i in r:
        x = x + i
    return x, r


@program(rand(3))
def bytes_and_arrays(x):
    data = bytearray(b"abc")
    data[0] = 122
    return x + len(b"ab"), b"ab" + b"c", b"abc"[1], b"abc"[1:], data


@program(rand(3))
def equality_of_nested(x):
    a = [1, (2, {"k": [3]})]
    b = [1, (2, {"k": [3]})]
    return x + 1 if a == b else x, a is not b, a == [1], (1, [2]) == (1, [2])


@program(rand(3))
def tensors_in_containers_by_identity(x):
    y = x + 1
    items = [y, x]
    return x is items[1], items[0] is y, y is x, any(item is x for item in items)


@program(rand(3), [rand(3), rand(3)])
def swapped_items(x, items):
    items[0], items[1] = items[1], items[0]
    return items[0] + x


@program(rand(3))
def augmented_subscripts(x):
    items, table = [1, x], {"k": [0]}
    items[0] += 5
    items[1] *= 2
    table["k"] += [1]
    table["n"] = table.get("n", 0) + 1
    return items, table


@program([], {}, ())
def empty_containers(a, b, c):
    a.append(1)
    b["k"] = 1
    return a, b, c, len(c)
