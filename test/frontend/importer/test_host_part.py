"""Graphs with tensors of the CPU and of a GPU, split in two.

What stands for tensors of the GPU says so; the tensors that the parts run on here are
all on the processor, so what they compute can be compared with the whole graph's.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

import hypothesis.strategies as st
import pytest
import torch
from hypothesis import assume, event, given, settings
from torch.fx import Graph, GraphModule, Interpreter, symbolic_trace
from torch.utils import _pytree as pytree

from girih.frontend.fake import make_fake_mode
from girih.frontend.importer.host_part import Split, split_host_part

CPU, GPU = torch.device("cpu"), torch.device("cuda", 0)


class _Noting(Interpreter):
    """Runs a graph on fake tensors and notes what each node gives."""

    def run_node(self, node):
        value = super().run_node(node)
        node.meta["val"] = node.meta["example_value"] = value
        return value


def fakes_of(
    tensors: Sequence[torch.Tensor], devices: Sequence[torch.device]
) -> list[torch.Tensor]:
    with make_fake_mode(None):
        return [
            torch.empty_strided(x.shape, x.stride(), dtype=x.dtype, device=device)
            for x, device in zip(tensors, devices, strict=True)
        ]


def capture(function: Callable, fakes: Sequence[torch.Tensor]) -> GraphModule:
    return noted(symbolic_trace(function), fakes)


def noted(gm: GraphModule, fakes: Sequence[torch.Tensor]) -> GraphModule:
    """A graph whose nodes say where their tensors are."""
    # Autograd asks devices that a PyTorch without CUDA does not have.
    with fakes[0].fake_mode, torch.no_grad():
        _Noting(gm).run(*fakes)
    return gm


def split_of(function, tensors, devices) -> Split | None:
    fakes = fakes_of(tensors, devices)
    return split_host_part(capture(function, fakes), fakes, GPU)


def run_parts(split: Split, tensors: Sequence[torch.Tensor]):
    """What the two parts give, where the GPU is the processor."""
    here = dataclasses.replace(split, there=CPU)
    return here.joined(split.host.gm.forward, split.device.gm.forward)(*tensors)


def assert_same(function, tensors, devices) -> Split:
    """Asserts that the parts give and write what the whole program does."""
    split = split_of(function, tensors, devices)
    assert split is not None
    mine, theirs = ([x.clone() for x in tensors] for _ in range(2))
    torch.manual_seed(0)
    expected = function(*theirs)
    torch.manual_seed(0)
    actual = run_parts(split, mine)
    assert pytree.tree_structure(actual) == pytree.tree_structure(expected)
    for one, other in zip(
        pytree.tree_leaves([actual, mine]),
        pytree.tree_leaves([expected, theirs]),
        strict=True,
    ):
        torch.testing.assert_close(one, other, rtol=0, atol=0, equal_nan=True)
    return split


def numbers(*values: float) -> list[torch.Tensor]:
    return [torch.tensor(value) for value in values]


def test_a_number():
    split = assert_same(
        lambda s, x: (x * s,), [*numbers(2.0), torch.randn(3)], [CPU, GPU]
    )
    assert split.host.inputs == (0,) and split.device.inputs == (1,)
    assert split.device.examples[1].device == GPU


def test_numbers_of_a_dtype_are_moved_together():
    tensors = [*numbers(2.0, 3.0, 4), torch.randn(3)]
    devices = [CPU, CPU, CPU, GPU]
    split = assert_same(lambda a, b, n, x: (x * a + b + n,), tensors, devices)
    (output,) = split.host.gm.graph.find_nodes(op="output")
    sizes = [node.meta["val"].shape for node in output.args[0]]
    assert sizes == [(2,), (1,)]
    assert [move.is_packed for move in split.moves] == [True, True]


def test_results_of_both_in_a_structure():
    def program(s, x):
        return {"host": [s + 1, None], "both": (x * (s - 1), 3, s)}

    tensors = [*numbers(2.0), torch.randn(3)]
    fakes = fakes_of(tensors, [CPU, GPU])
    split = split_host_part(noted(symbolic_trace(program), fakes), fakes, GPU)
    assert repr(run_parts(split, tensors)) == repr(program(*tensors))


def test_what_is_read_before_a_write():
    def program(s, x):
        before = x * s
        s.add_(1)
        between = x * s
        s.mul_(3)
        return before, between, x * s

    split = assert_same(program, [*numbers(2.0), torch.randn(3)], [CPU, GPU])
    copies = split.host.gm.graph.find_nodes(op="call_method", target="clone")
    assert len(copies) == 2


def test_what_is_read_after_all_writes_is_not_copied():
    def program(s, x):
        s.add_(1)
        return x * s, x / s

    split = assert_same(program, [*numbers(2.0), torch.randn(3)], [CPU, GPU])
    assert not split.host.gm.graph.find_nodes(op="call_method", target="clone")
    assert len(split.device.examples) == 2


def test_an_optimizer_with_its_counters_on_the_cpu():
    def program(step_a, step_b, a, b, da, db, m, n):
        steps, gradients, moments = [step_a, step_b], [da, db], [m, n]
        torch._foreach_add_(steps, 1)
        torch._foreach_lerp_(moments, gradients, 0.1)
        corrections = [1 - 0.9 ** step.double() for step in steps]
        sizes = torch.stack([-0.01 / correction for correction in corrections])
        roots = torch._foreach_sqrt(moments)
        torch._foreach_addcdiv_([a, b], moments, [roots[0], roots[1]], sizes)
        return ()

    shapes = [(), (), (3, 4), (5,), (3, 4), (5,), (3, 4), (5,)]
    tensors = [torch.rand(shape) for shape in shapes]
    split = assert_same(program, tensors, [CPU, CPU] + 6 * [GPU])
    # The vector is made of numbers again where it is taken apart.
    assert [move.is_packed for move in split.moves] == [True]
    assert len(split.device.examples) == 8
    assert split.device.gm.graph.find_nodes(op="call_function", target=torch.stack)


def test_what_is_made_of_nothing():
    """The host makes what it reads, the device the rest; random numbers once."""
    graph = Graph()
    s, x = graph.placeholder("s"), graph.placeholder("x")
    ones, noise = (graph.call_function(f, ((),)) for f in (torch.ones, torch.rand))
    pairs = (x, ones), (s, noise), (x, noise)
    graph.output(tuple(graph.call_function(torch.add, pair) for pair in pairs))
    tensors = [*numbers(2.0), torch.randn(3)]
    fakes = fakes_of(tensors, [CPU, GPU])
    split = split_host_part(noted(GraphModule({}, graph), fakes), fakes, GPU)
    made = [
        {node.target for node in part.gm.graph.nodes}
        for part in (split.host, split.device)
    ]
    assert torch.rand in made[0] and torch.rand not in made[1]
    assert torch.ones not in made[0] and torch.ones in made[1]
    shifted, number, noisy = run_parts(split, tensors)
    torch.testing.assert_close(shifted, tensors[1] + 1)
    torch.testing.assert_close(noisy - tensors[1], (number - 2).expand(3))


def test_each_transfer_has_memory_of_its_own():
    def program(batch, x):
        first, second = batch.to(GPU), batch.to(GPU, non_blocking=True)
        first.add_(1)
        return x + first, x + second

    split = split_of(program, [torch.randn(3), torch.randn(3)], [CPU, GPU])
    assert len(split.device.examples) == 3
    assert [move.waits for move in split.moves] == [True, False]


def test_results_that_go_to_the_cpu():
    def program(s, x):
        y = x * s
        return y.cpu(), y.sum().to("cpu", torch.float64)

    split = assert_same(program, [*numbers(2.0), torch.randn(3)], [CPU, GPU])
    targets = [node.target for node in split.device.gm.graph.nodes]
    assert "cpu" not in targets and "to" not in targets


def test_what_is_made_and_returned():
    """Without inputs of the CPU the host still makes what is returned there."""
    graph = Graph()
    x = graph.placeholder("x")
    ones = graph.call_function(torch.ones, (3,))
    there = graph.call_method("cpu", (graph.call_method("sin", (x,)),))
    graph.output((ones, there))
    tensors = [torch.randn(3)]
    fakes = fakes_of(tensors, [GPU])
    split = split_host_part(noted(GraphModule({}, graph), fakes), fakes, GPU)
    assert split.host.inputs == () and split.moves == ()
    made, moved = run_parts(split, tensors)
    torch.testing.assert_close(made, torch.ones(3))
    torch.testing.assert_close(moved, tensors[0].sin())


def test_without_inputs():
    graph = Graph()
    noise = graph.call_function(torch.rand, ((),))
    ones = graph.call_function(torch.ones, (3,), {"device": GPU})
    graph.output((noise, graph.call_function(torch.mul, (ones, noise))))
    gm = GraphModule({}, graph)
    with make_fake_mode(None):
        _Noting(gm).run()
    split = split_host_part(gm, [], GPU)
    assert [part.inputs for part in (split.host, split.device)] == [(), ()]
    assert len(split.device.examples) == 1


def test_static_inputs_keep_their_marks():
    fakes = fakes_of([*numbers(2.0), torch.randn(3), torch.randn(3)], [CPU, GPU, GPU])
    gm = capture(lambda s, x, w: (x * s * w,), fakes)
    gm.meta["static_input_indices"] = [0, 2]
    split = split_host_part(gm, fakes, GPU)
    assert split.host.gm.meta["static_input_indices"] == [0]
    assert split.device.gm.meta["static_input_indices"] == [1]


def to_the_host_and_on(s, x):
    return (x.cpu() * 2 + s,)


def to_the_host_and_back(s, x):
    return (x.sum().cpu() * s * x,)


def written_from_the_device(s, x):
    s.copy_(x.sum())
    return (x + 1,)


def written_in_a_list(s, x):
    torch._foreach_add_([s, x], 1)
    return (x,)


def number_for_the_device(s, x):
    return (x + s.numel(),)


@pytest.mark.parametrize(
    "program",
    [
        to_the_host_and_on,
        to_the_host_and_back,
        written_from_the_device,
        written_in_a_list,
        number_for_the_device,
    ],
    ids=lambda program: program.__name__,
)
def test_not_split(program):
    assert split_of(program, [*numbers(2.0), torch.randn(3)], [CPU, GPU]) is None


def test_not_split_where_nothing_is_on_the_cpu():
    tensors = [torch.randn(3), torch.randn(3)]
    assert split_of(lambda x, y: (x + y,), tensors, [GPU, GPU]) is None


def test_not_split_where_gradients_go_to_the_cpu():
    fakes = fakes_of([*numbers(2.0), torch.randn(3)], [CPU, GPU])
    fakes[0].requires_grad_()
    gm = capture(lambda s, x: (x * s,), fakes)
    assert split_host_part(gm, fakes, GPU) is None


# Random programs ----------------------------------------------------------------------

COMPUTED = [
    lambda a, b: a + b,
    lambda a, b: a * b,
    lambda a, b: a.sin(),
    lambda a, b: torch.maximum(a, b),
    lambda a, b: a.view_as(a),
    lambda a, b: a.sum(),
]
WRITTEN = [
    lambda a, b: a.add_(b),
    lambda a, b: a.mul_(2),
    lambda a, b: a.sub_(b),
    lambda a, b: torch._foreach_add_([a], [b]),
]
_place = st.integers(0, 11)
STEPS = st.lists(st.tuples(st.integers(0, 9), _place, _place), min_size=1, max_size=12)


def random_program(steps, returned, sides):
    """Steps over two numbers of the CPU and two tensors of the GPU."""

    def program(s, t, x, y):
        pool, where = [s, t, x, y], list(sides)
        for choice, i, j in steps:
            i, j = i % len(pool), j % len(pool)
            if choice < len(COMPUTED):
                pool.append(COMPUTED[choice](pool[i], pool[j]))
                where.append(max(where[i], where[j] if choice in (0, 1, 3) else 0))
            elif where[i] >= where[j]:
                WRITTEN[choice - len(COMPUTED)](pool[i], pool[j])
        return [pool[i % len(pool)] for i in returned]

    return program


@settings(max_examples=150, deadline=None)
@given(STEPS, st.lists(_place, min_size=1, max_size=4))
def test_random_programs(steps, returned):
    program = random_program(steps, returned, [0, 0, 1, 1])
    tensors = [*numbers(0.5, 1.5), torch.linspace(-1, 1, 3), torch.linspace(0, 2, 3)]
    try:
        program(*[x.clone() for x in tensors])
    except RuntimeError:
        assume(False)  # eager refuses it: a number can't take a vector
    split = split_of(program, tensors, [CPU, CPU, GPU, GPU])
    if split is not None:
        assert_same(program, tensors, [CPU, CPU, GPU, GPU])
    event("split" if split is not None else "not split")
