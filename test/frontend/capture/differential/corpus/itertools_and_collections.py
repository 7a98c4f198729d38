"""The modules itertools and collections."""

import collections
import heapq
import itertools

from differential.program import program, rand

Point = collections.namedtuple("Point", "x y", defaults=[0])


@program(rand(3))
def chains(x):
    parts = (
        list(itertools.chain([x], (x + 1,), [])),
        list(itertools.chain.from_iterable(["ab", "c"])),
    )
    return parts


@program(rand(3))
def products(x):
    total = x
    for a, b in itertools.product([1, 2], [3, 4]):
        total = total + a * b
    return total, list(itertools.product("ab", repeat=2))


@program(rand(3))
def permutations_and_combinations(x):
    return (
        x,
        list(itertools.permutations([1, 2, 3], 2)),
        list(itertools.combinations("abc", 2)),
    )


@program(rand(3))
def counts_and_cycles(x):
    counted = [i for i, _ in zip(itertools.count(5, 2), range(3), strict=False)]
    cycled = list(itertools.islice(itertools.cycle("ab"), 5))
    return x, counted, cycled, list(itertools.repeat(x, 2))


@program(rand(3))
def accumulates(x):
    return list(itertools.accumulate([x, x, x])), list(
        itertools.accumulate([1, 2, 3], max, initial=2)
    )


@program(rand(3))
def groups(x):
    grouped = {k: list(g) for k, g in itertools.groupby("aabbb")}
    return (
        x,
        grouped,
        [(k, len(list(g))) for k, g in itertools.groupby([1, 3, 2], lambda v: v % 2)],
    )


@program(rand(3))
def takes_and_drops(x):
    small = lambda v: v < 3
    items = [1, 2, 5, 1]
    return (
        x,
        list(itertools.takewhile(small, items)),
        list(itertools.dropwhile(small, items)),
    )


@program(rand(3))
def slices(x):
    return (
        x,
        list(itertools.islice(range(10), 2, 8, 3)),
        list(itertools.islice("abc", 2)),
    )


@program(rand(3))
def pairs(x):
    return (
        x,
        list(itertools.pairwise([1, 2, 3])),
        list(itertools.zip_longest([1], [2, 3], fillvalue=0)),
    )


@program(rand(3))
def star_maps(x):
    return list(itertools.starmap(lambda a, b: x * a + b, [(1, 2), (3, 4)]))


@program(rand(3))
def compresses(x):
    kept = list(itertools.compress("abc", [1, 0, 1]))
    return x, kept, list(itertools.filterfalse(lambda v: v % 2, range(4)))


@program(rand(3))
def tees(x):
    a, b = itertools.tee(iter([1, 2, 3]))
    return x, next(a), list(b), list(a)


@program(rand(3))
def ordered_dicts(x):
    d = collections.OrderedDict(a=x, b=x + 1)
    d.move_to_end("a")
    d["c"] = 3
    return d, list(d), d.popitem(last=False)


@program(rand(3), collections.OrderedDict(a=1))
def ordered_dict_argument(x, d):
    d["b"] = x
    d.move_to_end("b", last=False)
    return list(d), isinstance(d, dict)


@program(rand(3))
def default_dicts(x):
    grouped = collections.defaultdict(list)
    for i in range(4):
        grouped[i % 2].append(x * i)
    counts = collections.defaultdict(int, a=5)
    counts["a"] += 1
    counts["b"] += 1
    return grouped, counts, "z" in counts, counts.get("z")


@program(rand(3), collections.defaultdict(list))
def default_dict_argument(x, d):
    d["k"].append(x)
    d["k"].append(1)
    return len(d["other"]), len(d)


@program(rand(3))
def default_dict_with_lambda(x):
    d = collections.defaultdict(lambda: x + 1)
    return d["a"], list(d)


@program(rand(3))
def counters(x):
    c = collections.Counter("hello")
    c.update("lo")
    c["z"] += 2
    return x, c, c.most_common(2), c["nope"], sum(c.values())


@program(rand(3))
def counter_operators(x):
    a, b = collections.Counter(a=3, b=1), collections.Counter(a=1, c=2)
    return x, a + b, a - b, a & b, a | b, sorted(a.elements())


@program(rand(3))
def deques(x):
    d = collections.deque([1, 2, 3])
    d.append(x)
    d.appendleft(0)
    d.rotate(1)
    return d.popleft(), d.pop(), list(d), len(d), d[0], d


@program(rand(3), collections.deque([1, 2], maxlen=2))
def deque_argument(x, d):
    d.append(x)
    return d[-1] + 1, d.maxlen, list(d)


@program(rand(3))
def deque_methods(x):
    d = collections.deque(maxlen=3)
    d.extend([1, 2, 3, 4])
    d.extendleft([9])
    d[1] = 7
    return x, d, 7 in d, list(reversed(d)), d.index(7), d.count(9)


@program(rand(3), Point(1, 2))
def named_tuples(x, p):
    q = Point(x + p.x, y=x * p.y)
    return q, q.x, q[1], q._replace(x=1), Point._fields, Point(5), isinstance(q, tuple)


@program(rand(3), Point(1, 2))
def named_tuple_methods(x, p):
    a, b = p
    return x + a + b, p._asdict(), Point._make([3, 4]), p == (1, 2), p + (3,), repr(p)


@program(rand(3))
def chain_maps(x):
    m = collections.ChainMap({"a": 1}, {"a": 2, "b": x})
    m["c"] = 3
    return m["a"], m["b"], sorted(m), m.maps[0]


@program(rand(3))
def heaps(x):
    h = [3, 1, 2]
    heapq.heapify(h)
    heapq.heappush(h, 0)
    return x, heapq.heappop(h), heapq.nlargest(2, h), heapq.nsmallest(1, h)


@program(rand(3))
def user_dicts(x):
    class Lower(collections.UserDict):
        def __setitem__(self, key, value):
            super().__setitem__(key.lower(), value)

    d = Lower()
    d["A"] = x
    return d["a"], len(d), list(d)


@program(rand(3))
def breadth_first(x):
    graph = {"a": ["b", "c"], "b": ["d"], "c": ["d"], "d": []}
    queue, seen = collections.deque(["a"]), []
    while queue:
        node = queue.popleft()
        if node not in seen:
            seen.append(node)
            queue.extend(graph[node])
    return x * len(seen), seen
