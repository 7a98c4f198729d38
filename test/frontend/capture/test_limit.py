"""The limit of compilations holds for the values of one guard, and for all together."""

from __future__ import annotations

import enum
import itertools
import warnings

import numpy as np
import pytest
import torch

import girih
from girih.errors import UnsupportedError
from girih.frontend.capture.limit import MOST_ENTRIES

x = torch.arange(6.0).reshape(2, 3)


def eager_calls(function, calls, **options) -> int:
    """Compares the calls with eager; how many of them were not compiled."""
    compiled = girih.compile(function, backend="eager", **options)
    girih.reset()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", girih.FallbackWarning)
        for args in calls:
            torch.testing.assert_close(compiled(*args), function(*args))
    return sum(girih.counters()["eager_calls"].values())


class Reduction(enum.Enum):
    """Options as objects."""

    MEAN = "mean"
    SUM = "sum"
    MAX = "amax"


def reduced(x, how, dim, flag):
    x = getattr(x, how.value)(dim)
    return x * 2 if flag else x


def worded(x, act, kind, p):
    x = getattr(x, act)() if kind == "post" else getattr(x + 1, act)()
    return x.clamp(max=2) if p is None else x * p


def sized(x, y):
    return x.sum() * y


def stated(x, word, flag):
    y = x * len(word) if torch.is_grad_enabled() else x + len(word)
    return y if flag else -y


def under_states(x, word, flag, grad):
    with torch.set_grad_enabled(grad):
        return stated(x, word, flag)


FLAGS = (False, True)
COMBINATIONS = {
    "objects, numbers, flags": (reduced, [Reduction, (0, 1, -1), FLAGS], {}),
    "words and None": (
        worded,
        [("sin", "cos", "tanh"), ("post", "pre"), (None, 0.5, 2.0)],
        {},
    ),
    "sizes": (
        lambda _, n, m: sized(x.new_ones(n), x.new_ones(m)),
        [(2, 3, 4, 5), (6, 7, 8, 9)],
        {"dynamic": False},
    ),
    "conditions on numbers": (
        lambda x, a, b, c: (
            (x + 1 if a < 2 else x - 1) * (2 if b < 2 else 3) * (5 if c < 2 else 7)
        ),
        [(1.5, 2.5), (1.5, 2.5), (1.5, 2.5)],
        {},
    ),
    "states of torch": (under_states, [("a", "ab", "abc"), FLAGS, FLAGS], {}),
}


@pytest.mark.parametrize("name", COMBINATIONS)
def test_each_combination_of_few_values_is_compiled(name):
    function, values, options = COMBINATIONS[name]
    calls = [(x, *given) for given in itertools.product(*values)] * 2
    assert eager_calls(function, calls, **options) == 0


def _class_anew():
    class Scale:
        by = 2.0

    return Scale


# What differs at each call, though a message may call it the same.
ENDLESS = {
    "functions": (lambda x, f: f(x), lambda i: eval(f"lambda x: x + {i}")),
    "classes": (lambda x, cls: x * cls.by, lambda i: _class_anew()),
    "lengths": (lambda x, items: x * len(items), lambda i: (0,) * (i + 1)),
    "ranks": (lambda x, y: x.sum() * y, lambda i: torch.ones([2] * (i % 4) + [3])),
    "absent keys": (
        lambda x, d: x * sum(k in d for k in "abcdefgh"),
        lambda i: dict.fromkeys("abcdefgh"[:i]),
    ),
}
_FEW = 3


def _names(x, name):
    with torch.no_grad():
        if name.endswith("5"):
            return x * 2
        return x + len(name)


def _raises(x, name):
    try:
        raise ValueError(name)
    except ValueError as error:
        return x.sin() * len(error.args[0])


def _unrolls(x, n):
    for i in range(n):
        x = x + i
    return x


class _Named:
    def __init__(self, name):
        self.name = name

    def __len__(self):
        return len(self.name)

    def __getattr__(self, name):
        return len(self.name + name)


def _makes(x, name):
    named = _Named(name)
    return x * len(named) + named.other


def _both(x, items):
    return x * len(items["words"]) + sum(items["numbers"])


# Uses of texts, numbers and lengths that are others at each call. No entry is made for
# each: beyond the limit Python does what needs the value.
USES = {
    "length of a text": (lambda x, name: x.sin() * len(name), str),
    "branch in a block": (_names, lambda i: f"n{i}"),
    "handler": (_raises, str),
    "comparison": (lambda x, n: x if n == "3" else x * 2, str),
    "comprehension": (lambda x, n: sum(x * len(n) for _ in range(3)), str),
    "key of sorted": (lambda x, n: x * sorted([1, 2], key=lambda i: n * i)[0], str),
    "number of steps": (_unrolls, int),
    "numpy number": (lambda x, n: x * float(n + 1), np.float64),
    "computed number": (lambda x, n: x * len("a" * (n * 2 + 1)), int),
    "name of a method": (lambda x, n: getattr(x, ("sin", "cos")[n % 2])(), int),
    "object made of it": (_makes, str),
    "list": (lambda x, items: x * torch.tensor(items).sum(), lambda i: [0] * (i + 1)),
    "keys": (lambda x, d: x * sum(d.values()), lambda i: {f"k{i}": i, "all": 1}),
    "dict": (_both, lambda i: {"words": "z" * i, "numbers": [1] * i}),
}


@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("name", USES)
def test_python_does_what_needs_a_value_that_varies_without_end(name, dynamic):
    function, make = USES[name]
    calls = [(x, make(i)) for i in range(24)]
    assert eager_calls(function, calls, dynamic=dynamic) == 0
    assert girih.counters()["captures"] < 32


def test_a_list_may_grow():
    def make():
        history, totals = [], {}

        def function(x, name):
            history.append(x.mean(0))
            totals[f"{name}/sum"] = x.sum()
            return torch.stack(history[-3:]).sum(0), len(history), len(totals)

        return function

    compiled, function = girih.compile(make(), backend="eager"), make()
    girih.reset()
    for i in range(24):
        args = x + i, f"layer{i}"
        torch.testing.assert_close(compiled(*args), function(*args))
    counters = girih.counters()
    assert not counters["eager_calls"]
    assert counters["captures"] < 48


def test_a_dict_may_get_a_key_at_each_call():
    def make():
        seen = {}

        def function(x, name):
            y = x * 2 if name.startswith("a") else x
            seen.setdefault(name[:2], []).append(y.sum())
            return y + len(seen), len("".join(sorted(seen)))

        return function

    compiled, function = girih.compile(make(), backend="eager"), make()
    girih.reset()
    for i in range(24):
        args = x + i, f"{'ab'[i % 2]}{chr(97 + i)}"
        torch.testing.assert_close(compiled(*args), function(*args))
    assert not girih.counters()["eager_calls"]
    assert girih.counters()["captures"] < 64


def test_where_python_asks_for_a_value_a_graph_ends():
    def function(x, name):
        y = x.sin()
        return y * len(name)

    girih.reset()
    compiled = girih.compile(function, backend="eager", recompile_limit=2)
    for name in ("a", "bb", "ccc", "dddd", "eeeee"):
        compiled(x, name)
    assert girih.counters()["breaks"] >= 1
    assert compiled.cache_statistics()["entries"] == 3


@pytest.mark.parametrize(
    "options", [{"fullgraph": True}, {"dynamic": False}, {"recompile_limit": 1}]
)
def test_the_limit_holds_for_values_where_graphs_may_not_end(options):
    options = {"recompile_limit": 2, **options}
    compiled = girih.compile(lambda x, n: x * len(n), backend="eager", **options)
    error = UnsupportedError if "fullgraph" in options else girih.FallbackWarning
    for name in ("a", "bb")[: options["recompile_limit"]]:
        compiled(x, name)
    with pytest.raises(error) if error is UnsupportedError else pytest.warns(error):
        compiled(x, "ccc")


@pytest.mark.parametrize("name", ENDLESS)
def test_values_without_end_reach_the_limit(name):
    function, make = ENDLESS[name]
    calls = [(x, make(i)) for i in range(8)]
    options = {"recompile_limit": _FEW}
    assert eager_calls(function, calls, options=options) == (
        2 if name == "ranks" else 8 - _FEW
    )


def test_all_combinations_together_have_a_limit():
    def function(x, a, b, c, d):
        return x + sum(2**i for i, flag in enumerate((a, b, c, d)) if flag)

    calls = [(x, *given) for given in itertools.product(FLAGS, repeat=4)]
    options = {"recompile_limit": 2}
    assert eager_calls(function, calls, options=options) == 0
    more = [
        (torch.ones(2, dtype=dtype), *given)
        for dtype in (torch.float32, torch.float64)
        for given in itertools.product(FLAGS, repeat=4)
    ]
    assert eager_calls(function, more, options=options) == len(more) - 2 * MOST_ENTRIES


TABLE = {"a": 1, "b": 2, "c": 3}


def behind_a_break(x, first, second, third, fourth, fifth):
    if x.sum() > 100:
        return x
    y = x * TABLE[first] + TABLE[second]
    return y * TABLE[third] + TABLE[fourth] * TABLE[fifth]


def in_front(x, first, second, third, fourth, fifth):
    y = x * TABLE[first] + TABLE[second]
    return y * TABLE[third] + TABLE[fourth] * TABLE[fifth]


# Entries for all of 243 combinations: each part behind a break has some 12.
@pytest.mark.parametrize("function, most", [(behind_a_break, 70), (in_front, 100)])
def test_few_values_of_several_words_do_not_multiply_without_end(function, most):
    calls = [(x, *words) for words in itertools.product(TABLE, repeat=5)]
    assert eager_calls(function, calls[::-1] + calls) == 0
    assert girih.counters()["captures"] <= most


def two_flags(x, first, second):
    if x.sum() > 100:
        return x
    return x * TABLE[first] + TABLE[second]


def test_two_flags_behind_a_break_have_all_entries():
    calls = [(x, *words) for words in itertools.product(TABLE, repeat=2)]
    assert eager_calls(two_flags, calls * 2) == 0
    assert girih.counters()["captures"] == len(calls) + 1  # and what leads to it


def test_the_warning_begins_with_what_has_most_values():
    def function(x, flag, word):
        return (x + 1 if flag else x - 1) * len(word)

    calls = [(x, i % 2 == 0, "a" * (i + 1)) for i in range(12)]
    options = {"recompile_limit": _FEW}
    compiled = girih.compile(function, backend="eager", dynamic=False, options=options)
    with pytest.warns(girih.FallbackWarning) as caught:
        for args in calls:
            torch.testing.assert_close(compiled(*args), function(*args))
    (warning,) = [str(w.message) for w in caught]
    first = warning.partition("kept failing:\n")[2].splitlines()[0]
    assert "L['word']" in first, warning


def test_a_condition_is_told_with_its_values():
    def function(x, p):
        return torch.nn.functional.pad(x, (1, 1), value=p)

    compiled = girih.compile(
        function, backend="eager", dynamic=False, recompile_limit=2
    )
    with pytest.warns(girih.FallbackWarning) as caught:
        for p in (2.5, -1.0, 4.0, 7.0):
            compiled(x, p)
    assert "c1(" not in str(caught[0].message)
