"""Random programs that pass objects with a ``__del__`` around, in Python's order."""

import random

import pytest
import torch
from extent import extent

import girih

NAMES = ("a", "b", "c")
STATEMENTS = (
    "{v} = R(log)",
    "{v} = R(log)",
    "{v} = {w}",
    "{v} = None",
    "{v} = x",
    "{v}, {w} = {w}, {v}",
    "{v} = ({w}, R(log))",
    "{v} = [{w}]",
    "del {v}; {v} = 1",
    "h.append({v})",
    "h.append(R(log))",
    "h[:1] = []",
    "h.pop() if h else None",
    "h.clear()",
    "h = [*h, {v}]",
    "d['{v}'] = {w}",
    "d.pop('{v}', None)",
    "d.clear()",
    "d = {{'{w}': h}}",
    "o.it = {v}",
    "o.it = R(log)",
    "o = Holder()",
    "x = passed(x, {v})",
    "x = made(x, log)",
    "x = x + passed(x, [R(log), {v}])",
    "x = x + 1",
    "x = x * 2",
    "log.append('{n}')",
    "log.append('{n}')",
    "print(end='')",
    "{v} = lambda: {w}",
    "for {v} in (1, R(log)): x = x + 1",
    "kept.append({v}) if len(kept) < 2 else kept.pop()",
)
ENDS = ("return x", "return x, {v}", "return h, x", "return o", "return None")


class R:
    def __init__(self, log):
        self.log, self.name = log, sum(type(item) is int for item in log)
        log.append(self.name)

    def __del__(self):
        self.log.append(f"close {self.name}")


class Holder:
    it = None


def passed(x, given):
    held = [given]
    held = len(held)
    return x + held


def made(x, log):
    held = R(log)
    y = x + 1
    log.append("inside")
    return y if held else x


def program_of(seed):
    rng = random.Random(seed)
    lines = ["h, d, o, kept = [], {}, Holder(), []", "a = b = c = None"]
    for number in range(rng.randint(5, 14)):
        v, w = rng.sample(NAMES, 2)
        lines.append(rng.choice(STATEMENTS).format(v=v, w=w, n=f"at {number}"))
    lines.append(rng.choice(ENDS).format(v=rng.choice(NAMES)))
    text = "def program(x, log):\n    " + "\n    ".join(lines)
    namespace = {"R": R, "Holder": Holder, "passed": passed, "made": made}
    exec(compile(text, __file__, "exec"), namespace)
    return namespace["program"], text


@pytest.mark.parametrize("seed", range(extent(25, long=500)))
def test_order(seed):
    program, text = program_of(seed)
    compiled = girih.compile(program, dynamic=(None, True)[seed % 2])
    for _ in range(2):
        logs = []
        for run in (compiled, program):
            logs.append([])
            run(torch.ones(2), logs[-1])
            logs[-1].append("returned")
        assert logs[0] == logs[1], text
