"""The ``__del__`` of what a variable gives up runs where Python runs it."""

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


PROGRAMS = (
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
        compiled(torch.ones(2), found)
        program(torch.ones(2), expected)
        assert found == expected
