"""What runs when an object dies runs where Python runs it."""

# ruff: noqa: F841  (variables that only hold something)

import weakref

import pytest
import torch

import girih


class Resource:
    def __init__(self, log, name):
        self.log, self.name = log, name
        log.append(f"open {name}")

    def __del__(self):
        self.log.append(f"close {self.name}")


def rebound(x, log):
    made = Resource(log, 1)
    y = x + 1
    made = None
    log.append("after 1")
    made = Resource(log, 2)
    made = Resource(log, 3)
    log.append("after 2")
    return y, made is None


def deleted(x, log):
    made = Resource(log, 1)
    y = x + 1
    del made
    log.append("after")
    return y * 2


def kept_by_another(x, log):
    made = other = Resource(log, 1)
    made = x + 1
    log.append("kept")
    other = made * 2
    log.append("after")
    return other


def rebound_in_loop(x, log):
    for n in range(3):
        made = Resource(log, n)
        x = x + n
        log.append(f"step {n}")
    return x, made is None


def rebound_by_unpacking(x, log):
    first, second = Resource(log, 1), Resource(log, 2)
    first, second = second, x
    log.append("after")
    return x + 1, first is None


def argument(x, log, made=None):
    made = made or Resource(log, 1)
    y = x * 2
    made = y
    log.append("after")
    return made + 1


def cell(x, log):
    made = Resource(log, 1)
    y = x + 1

    def read():
        return made

    made = None
    log.append("after")
    return y * 2, read()


def returned_after_loop(x, log):
    for n in range(3):
        made = Resource(log, n)
        x = x + n
        log.append(f"step {n}")
    return x, made


def popped(x, log):
    held = [Resource(log, 1)]
    y = x + 1
    held.pop()
    log.append("after")
    return y * 2


def cleared(x, log):
    held = {"a": Resource(log, 1)}
    y = x + 1
    held.clear()
    log.append("after")
    return y * 2


def overwritten(x, log):
    held = {"a": Resource(log, 1), "b": Resource(log, 2)}
    y = x + 1
    held["a"] = None
    log.append("after a")
    del held["b"]
    log.append("after b")
    return y * 2


class Holder:
    it = None


def attribute(x, log):
    holder = Holder()
    holder.it = Resource(log, 1)
    y = x + 1
    holder.it = None
    log.append("after")
    holder.it = Resource(log, 2)
    x = y + 1
    del holder.it
    log.append("end")
    return x


def attribute_of_lost_holder(x, log):
    holder = Holder()
    holder.it = Resource(log, 1)
    y = x + 1
    holder = y
    log.append("after")
    return holder


def _uses(x, log, name):
    held = Resource(log, name)
    return x + 1 if held else x


def _passes(x, held):
    kept = [held]
    return x * len(kept)


def left(x, log):
    y = _uses(x, log, 1)
    log.append("after 1")
    return _passes(_uses(y, log, 2), Resource(log, 3)), log.append("after 3")


def _fails(x, log):
    held = Resource(log, 1)
    y = x + 1
    raise ValueError(y.shape, held is None)


def unwound(x, log):
    try:
        _fails(x, log)
    except ValueError as error:
        x = x + 1
        log.append("handled")
        log.append(str(error))
    log.append("after")
    return x * 2


def sliced(x, log):
    held = [Resource(log, 1), Resource(log, 2), Resource(log, 3)]
    y = x + 1
    held[1:2] = []
    log.append("after 2")
    held[:] = [y]
    log.append("after all")
    return held


def discarded(x, log):
    made = Resource(log, 1)
    held = {made, 2}
    y = x + 1
    held.discard(made)
    log.append("discarded")
    del made
    log.append("deleted")
    return y, len(held)


def tuple_rebound(x, log):
    held = (Resource(log, 1), x)
    y = x + 1
    held = (y, held[1])
    log.append("after")
    return held


def nested(x, log):
    held = {"a": [Resource(log, 1)]}
    other = held["a"]
    y = x + 1
    held = None
    log.append("held by another")
    other = y
    log.append("after")
    return other, held


def dead_list(x, log):
    held = []
    held.append(Resource(log, 1))
    y = x + 1
    log.append("after")
    print(end="")
    log.append("after a break")
    return y * 2


def dead_variable_rebound(x, log):
    held = Resource(log, 1)
    y = x + 1
    held = Resource(log, 2)
    z = y + 1
    log.append("after")
    return z


def several_at_the_end(x, log, last=None):
    first = Resource(log, 1)
    y = x + 1
    second = [Resource(log, 2), Resource(log, 3)]
    last = Resource(log, 4)
    log.append("end")
    return y


def _generator(x, log):
    held = Resource(log, 1)
    yield x + 1
    log.append("second")
    yield x + 2
    log.append("third")


def exhausted(x, log):
    for y in _generator(x, log):
        x = x + y
        log.append("step")
    log.append("after")
    return x


def closed(x, log):
    made = _generator(x, log)
    y = next(made) + 1
    made.close()
    log.append("after")
    return y


class Manager:
    def __init__(self, log):
        self.held = Resource(log, "managed")

    def __enter__(self):
        return self.held

    def __exit__(self, *error):
        self.held = None


def managed(x, log):
    with Manager(log) as held:
        y = x + 1
        log.append("inside")
    log.append("left")
    held = y
    log.append("after")
    return held


def in_comprehension(x, log):
    made = [x + len([Resource(log, i)]) for i in range(2)]
    log.append("after")
    return made


def global_lost(x, log):
    global _held
    _held = Resource(log, 1)
    y = x + 1
    _held = None
    log.append("after")
    return y


def several_cells(x, log, last=None):
    first = Resource(log, 1)
    y = x + 1
    second = Resource(log, 2)
    last = Resource(log, 3)
    log.append("end")
    return (lambda: (first, last) and y)()


def argument_of_a_call(x, log):
    held = [Resource(log, 1)]
    made = (lambda given: x + len(given))(held)
    held.clear()
    log.append("after")
    return made


class Plain:
    pass


def reference(x, log):
    made = Plain()
    watched = weakref.ref(made, lambda _: log.append("gone"))
    y = x + 1
    made = None
    log.append("after")
    return y, watched() is None


def finalized(x, log):
    made = Plain()
    weakref.finalize(made, log.append, "gone")
    y = x + 1
    log.append("alive")
    made = y
    log.append("after")
    return made


def finalized_at_the_end(x, log):
    made = Plain()
    weakref.finalize(made, log.append, "gone")
    y = x + 1
    log.append("alive")
    return y


def finalized_tensor(x, log):
    made = x + 1
    weakref.finalize(made, log.append, "gone")
    y = made + 1
    log.append("alive")
    made = y
    log.append("after")
    return made * 2


def returned(x, log):
    made = Resource(log, 1)
    y = x + 1
    log.append("end")
    return y, made


PROGRAMS = (
    argument_of_a_call,
    attribute,
    attribute_of_lost_holder,
    cleared,
    closed,
    dead_list,
    dead_variable_rebound,
    discarded,
    exhausted,
    finalized,
    finalized_at_the_end,
    finalized_tensor,
    global_lost,
    in_comprehension,
    left,
    managed,
    nested,
    overwritten,
    popped,
    reference,
    returned,
    returned_after_loop,
    several_at_the_end,
    several_cells,
    sliced,
    tuple_rebound,
    unwound,
    rebound,
    deleted,
    kept_by_another,
    rebound_in_loop,
    rebound_by_unpacking,
    argument,
    cell,
)


@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("program", PROGRAMS)
def test_order(program, dynamic):
    compiled = girih.compile(program, dynamic=dynamic)
    for _ in range(2):
        found, expected = [], []
        for run, log in ((compiled, found), (program, expected)):
            run(torch.ones(2), log)
            log.append("returned")
        assert found == expected


def outside(x, log, holder):
    log.append("start")
    holder.it = None
    y = x + 1
    log.append("between")
    holder.items.clear()
    log.append("after")
    if x.dim() == 1:
        holder.it = Resource(log, 1)
        holder.items["a"] = Resource(log, 2)
    return y * 2


@pytest.mark.parametrize("dynamic", [None, True])
def test_objects_outside(dynamic):
    """What an object lost in the first call may be another thing in the second."""
    logs = []
    for run in (girih.compile(outside, dynamic=dynamic), outside):
        holder = Holder()
        holder.items = {}
        logs.append([])
        for shape in (2, (2, 2), 2, 2, (2, 2)):
            run(torch.ones(shape), logs[-1], holder)
    assert logs[0] == logs[1]


def test_no_more_breaks_without_such_objects():
    graphs = []

    def program(x, held):
        held["a"] = [x]
        held["a"] = x + 1
        held.pop("a")
        made = {"b": [held, x]}
        made.clear()
        del made
        return x * 2

    def backend(graph, inputs):
        graphs.append(graph)
        return graph.forward

    girih.compile(program, backend=backend, fullgraph=True)(torch.ones(2), {})
    assert len(graphs) == 1
