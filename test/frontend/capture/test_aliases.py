"""Arguments that are one object at one call and two at the next."""

import collections
import copy
import decimal
import operator

import pytest
import torch
from capture_differential import assert_same, compile_eagerly

import girih

SENTINEL = object()


class Counter:
    def __init__(self, count=0):
        self.count = count


def appended(x, a, b):
    a.append(5)
    return x + len(b)


def appended_and_taken_back(x, a, b):
    a.append(5)
    seen = len(b)
    a.pop()
    return x + seen


def appended_to_one_end(x, a, b):
    a.appendleft(5)
    return x + b[0], len(b)


def item_set(x, a, b):
    a["k"] = 2
    return x + len(b)


def added(x, a, b):
    a.add(7)
    return x + len(b)


def attribute_set(x, a, b):
    a.count = a.count + 1
    return x + b.count


def nested(x, a, b):
    a[0].append(5)
    return x + len(b[0])


def compared(x, a, b):
    return x + 1 if a is b else x - 1


def compared_by_default_eq(x, a, b):
    return x + 1 if a == b else x - 1


MAKERS = {
    appended: lambda: [1],
    appended_and_taken_back: lambda: [1],
    appended_to_one_end: lambda: collections.deque([1]),
    item_set: lambda: {"a": 1},
    added: lambda: {1},
    attribute_set: Counter,
    nested: lambda: [[1]],
    compared: lambda: [1],
    compared_by_default_eq: Counter,
}


def arguments(make, one: bool):
    first = make()
    return torch.ones(2), first, first if one else make()


@pytest.mark.parametrize("function", MAKERS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("one_first", [False, True])
def test_one_object_or_two(function, one_first):
    compiled = compile_eagerly(function)
    for one in (one_first, not one_first, one_first):
        plain, ours = (arguments(MAKERS[function], one) for _ in range(2))
        assert_same(compiled(*ours), function(*plain))
        assert_same(ours, plain)
    assert compiled.cache_statistics()["captures"] == 2


@pytest.mark.parametrize("make", [list, collections.deque])
def test_a_method_of_an_object_that_has_another_name(make):
    """Behind a break, a method on the stack and a global lead to one object."""
    kept = make()

    def function(x):
        kept.append(x.sum().item())
        return x + 1, list(kept)

    compiled = girih.compile(function, backend="eager")
    girih.reset()
    for i in range(6):
        kept.clear()
        x = torch.full((2,), float(i))
        assert compiled(x)[1] == [2.0 * i]
    counters = girih.counters()
    assert counters["recompilations"] <= 3
    assert not counters["eager_calls"]


def test_tuples_that_are_one():
    pair, other = (1, 2), (1, 3 - 1)
    compiled = compile_eagerly(compared)
    for second in (pair, tuple(list(other)), pair):
        x = torch.ones(2)
        assert_same(compiled(x, pair, second), compared(x, pair, second))


def test_sentinel_of_a_global():
    def f(x, given):
        return x if given is SENTINEL else x + 1

    compiled, x = compile_eagerly(f), torch.ones(2)
    for given in (object(), SENTINEL, object()):
        assert_same(compiled(x, given), f(x, given))


def test_default_that_is_held():
    def f(x, items, given=SENTINEL):
        items.append(given is SENTINEL)
        return x + len(items)

    compiled, x = compile_eagerly(f), torch.ones(2)
    for given in ((), (object(),), (SENTINEL,)):
        plain, ours = [], []
        assert_same(compiled(x, ours, *given), f(x, plain, *given))
        assert ours == plain


def test_reading_needs_no_guard():
    def f(x, a, b):
        return x + len(a) + len(b)

    compiled, a = compile_eagerly(f), [1]
    compiled(torch.ones(2), [1], [1])
    compiled(torch.ones(2), a, a)
    assert compiled.cache_statistics()["captures"] == 1


def stored_and_deleted(x):
    global made
    made = 5
    y = x * made
    del made
    return y


def deleted(x):
    global made
    del made
    return x + 1


def builtin_deleted(x):
    global len
    try:
        del len
    except NameError as error:
        return x, str(error)
    return x


@pytest.mark.parametrize("there_first", [False, True])
def test_global_deleted_with_and_without_it(there_first):
    compiled, x = compile_eagerly(stored_and_deleted), torch.ones(2)
    for there in (there_first, not there_first, there_first):
        if there:
            globals()["made"] = 1
        assert_same(compiled(x), x * 5)
        assert "made" not in globals()


def test_global_deleted():
    compiled, x = compile_eagerly(deleted, fullgraph=False), torch.ones(2)
    globals()["made"] = 1
    assert_same(compiled(x), x + 1)
    assert "made" not in globals()
    with pytest.raises(NameError, match="name 'made' is not defined"):
        compiled(x)


def test_builtins_are_no_globals():
    x = torch.ones(2)
    assert_same(compile_eagerly(builtin_deleted)(x), builtin_deleted(x))


def tensor_written(a, b):
    a.add_(1)
    return b * 2


def view_written(a, b):
    a[0] = 7
    return a + b


@pytest.mark.parametrize("function", [tensor_written, view_written])
def test_tensors_that_share_storage(function):
    compiled = girih.compile(function)
    for start in (0, 2, 4, 0):
        plain, ours = torch.arange(8.0), torch.arange(8.0)
        expected = function(plain[:4], plain[start : start + 4])
        assert_same(compiled(ours[:4], ours[start : start + 4]), expected)
        assert_same(ours, plain)


@pytest.mark.parametrize("function", [tensor_written, view_written])
def test_one_tensor_or_two(function):
    compiled = girih.compile(function)
    for one in (False, True, False):
        plain, ours = torch.arange(4.0), torch.arange(4.0)
        expected = function(plain, plain if one else torch.ones(4))
        assert_same(compiled(ours, ours if one else torch.ones(4)), expected)
        assert_same(ours, plain)


class Holder:
    pass


def test_an_object_and_its_own_dict():
    def write_dict(x, holder, table):
        before = holder.a
        table["a"] = x * 2
        return holder.a + before

    def write_object(x, holder, table):
        before = table["a"]
        holder.a = x * 2
        return table["a"] + before

    for function in (write_dict, write_object):
        compiled = girih.compile(function, backend="eager")
        for is_own in (False, True, False, True):
            results = []
            for run in (compiled, function):
                holder = Holder()
                holder.a = torch.ones(2)
                table = vars(holder) if is_own else {"a": torch.zeros(2)}
                results.append(run(torch.full((2,), 3.0), holder, table))
            assert torch.equal(*results), (function.__name__, is_own)


FACTOR = 2.0


def test_globals_as_a_dict():
    def function(x, namespace):
        before = FACTOR
        namespace["FACTOR"] = 5.0
        after = FACTOR
        namespace["FACTOR"] = before
        return x * before, x * after

    compiled = girih.compile(function, backend="eager")
    for _ in range(2):
        found = compiled(torch.ones(2), globals())
        assert [item[0].item() for item in found] == [2.0, 5.0]


def keys(x, first, second):
    table = {}
    table[first] = 1
    table[second] = 2
    return x, len(table), table[first]


def addresses(x, first, second):
    return x, id(first) == id(second), len({id(first), id(second)})


def copies(x, first, second):
    one, two = copy.deepcopy([first, second])
    return x, one is two


@pytest.mark.parametrize("function", [keys, addresses, copies])
def test_identities_are_guarded(function):
    compiled = girih.compile(function, backend="eager", fullgraph=True)
    x, one, two = torch.ones(2), Holder(), Holder()
    for first, second in ((one, two), (one, one), (two, one), (two, two)):
        assert compiled(x, first, second)[1:] == function(x, first, second)[1:]


def given_twice(x, given):
    return x, str(given * 2)


def sorted_by(x, given):
    return x, sorted([(1, 3), (2, 1)], key=given)


VALUES = {
    given_twice: [decimal.Decimal(text) for text in ("1.0", "1.00", "2", "1.0")],
    sorted_by: [operator.itemgetter(index) for index in (1, 0, 1)],
}


@pytest.mark.parametrize("function", VALUES)
def test_values_that_compare_equal_are_guarded(function):
    compiled = girih.compile(function, backend="eager", fullgraph=True)
    for value in VALUES[function]:
        assert compiled(torch.ones(2), value)[1] == function(None, value)[1]


class Thing:
    pass


def counted(x, things):
    return x * len(set(things))


@pytest.mark.parametrize("count", [2, 9, 300])
def test_any_number_of_objects_is_told_apart(count):
    compiled = compile_eagerly(counted)
    things = [Thing() for _ in range(count)]
    assert compiled(torch.ones(1), things).item() == count
    for left, right in ((0, 1), (0, count - 1), (count // 2, count - 1)):
        again = list(things)
        again[left] = again[right]
        found = compiled(torch.ones(1), again)
        assert found.item() == count - (left != right)


def test_what_is_the_same_for_other_objects_is_captured_once():
    compiled = compile_eagerly(counted)
    with girih.set_stance("default"):
        compiled(torch.ones(1), [Thing() for _ in range(100)])
    with girih.set_stance("fail_on_recompile"):
        compiled(torch.ones(1), [Thing() for _ in range(100)])


def test_it_is_told_which_objects_are_not_distinct(caplog):
    girih.reset()
    compiled = compile_eagerly(counted)
    thing = Thing()
    compiled(torch.ones(1), [thing, Thing()])
    with caplog.at_level("INFO", logger="girih.recompiles"):
        compiled(torch.ones(1), [thing, thing])
    assert "2 objects are distinct: [\"L['things'][0]\"" in caplog.text
