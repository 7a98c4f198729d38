"""Recorded graphs: what is replayed, and that results are those of a fresh call."""

from __future__ import annotations

import random

import pytest
import torch
from fake_graphs import FakeApi
from torch import nn

from girih.codegen.runtime.cuda_graphs import (
    COPIED_BYTES,
    MOST_ALIKE,
    SMALL_BYTES,
    Recorder,
)
from girih.codegen.runtime.recordable import Recordable
from girih.codegen.runtime.recording import Shared

LARGE = SMALL_BYTES // 4 + 1
HUGE = COPIED_BYTES // 4 + 1


class Program:
    """A function as a program, which counts its calls."""

    def __init__(self, function):
        self.function, self.calls = function, 0

    def __call__(self, *inputs):
        self.calls += 1
        return self.function(*inputs)


def recorder(function, *, api=None, limit=16, **facts):
    """A recorder of a function, with its notes and its device in attributes."""
    given = {"donated": 0, "static": frozenset(), "written": frozenset()}
    given |= {"numbers": (), "sizes": (), "returned": frozenset({0})}
    made = Recorder(
        Program(function),
        Recordable(**(given | facts)),
        Shared(api or FakeApi()),
        limit=limit,
        note=lambda reason: notes.append(reason),
    )
    made.notes = notes = []
    made.api = made._shared.api
    return made


def replays(made) -> int:
    """How often a graph was replayed."""
    return sum(graph.replays for graph in made.api.graphs)


def add_one(x):
    return (x + 1,)


def test_the_second_call_is_recorded_and_later_ones_replayed():
    made = recorder(add_one)
    for number in range(4):
        x = torch.full((3,), float(number))
        assert made(x)[0].tolist() == [number + 1.0] * 3
    assert len(made.api.graphs) == 1
    assert replays(made) == 3
    assert made.program.calls == 2
    assert made.notes == [None]


def test_small_results_stay_what_they_were():
    made = recorder(add_one)
    kept = [made(torch.full((3,), float(n)))[0] for n in range(12)]
    assert [float(value[0]) for value in kept] == [n + 1.0 for n in range(12)]
    assert len(made.api.graphs) <= MOST_ALIKE + 2  # the last one copies
    assert made.program.calls == len(made.api.graphs) + 1


def test_small_results_beside_saved_values_are_copied_at_once():
    made = recorder(lambda x: (x + 1, x * 2))
    kept = [made(torch.full((3,), float(n)))[0] for n in range(6)]
    assert [float(value[0]) for value in kept] == [n + 1.0 for n in range(6)]
    assert len(made.api.graphs) == 1


def test_large_results_stay_what_they_were():
    made = recorder(add_one)
    inputs = [torch.full((HUGE,), float(n)) for n in range(MOST_ALIKE + 4)]
    kept = [made(x)[0] for x in inputs]  # none is pinned: each lies elsewhere
    for number, value in enumerate(kept):
        assert value.eq(number + 1).all()
    assert len(made.api.graphs) <= MOST_ALIKE + 1
    assert any("still in use" in note for note in made.notes if note)


def test_large_results_are_lent():
    made = recorder(add_one)
    x = torch.zeros(LARGE)
    made(x)
    first = made(x)[0].data_ptr()
    assert made(x)[0].data_ptr() == first
    assert len(made.api.graphs) == 1


def test_a_loop_that_holds_its_last_result_takes_turns():
    made = recorder(add_one)
    x = torch.zeros(HUGE)
    y = None
    for _ in range(8):
        y = made(x)[0]
    assert y.eq(1).all()
    assert len(made.api.graphs) == 2
    assert replays(made) == 7


def test_without_room_no_second_graph_is_recorded():
    api = FakeApi()
    api.free = 10
    made = recorder(add_one, api=api)
    kept = [made(torch.full((HUGE,), float(n)))[0] for n in range(5)]
    assert [float(value[0]) for value in kept] == [1.0, 2.0, 3.0, 4.0, 5.0]
    assert len(api.graphs) <= 2


def test_a_result_of_middle_size_that_is_kept_is_copied_from_then_on():
    api = FakeApi()
    api.free = 100_000  # another graph takes more than next to nothing
    made = recorder(add_one, api=api)
    kept = [made(torch.full((LARGE,), float(n)))[0] for n in range(3)]
    assert made.notes.count(None) >= 2
    kept += [made(torch.full((LARGE,), float(n)))[0] for n in range(3, 9)]
    assert [float(value[0]) for value in kept] == [n + 1.0 for n in range(9)]
    assert len(made.api.graphs) <= 3


def test_an_input_that_moves_is_copied():
    made = recorder(add_one)
    kept = [torch.full((3,), float(n)) for n in range(5)]
    assert [float(made(x)[0][0]) for x in kept] == [1.0, 2.0, 3.0, 4.0, 5.0]
    assert len(made.api.graphs) == 1


def test_an_input_that_stays_is_read_where_it_is():
    made = recorder(add_one)
    x = torch.zeros(3)
    for number in range(4):
        x.fill_(number)
        assert float(made(x)[0][0]) == number + 1
    (recording,) = made._recordings
    assert recording.plan.guessed == (0,)
    y = torch.full((3,), 9.0)
    assert float(made(y)[0][0]) == 10
    (recording,) = made._recordings
    assert recording.plan.copied == (0,)
    assert float(made(x)[0][0]) == 4
    assert len(made.api.graphs) == 2


@pytest.mark.parametrize("layout", ["expanded", "transposed", "strided", "empty"])
def test_copies_of_inputs_with_any_strides(layout):
    def make(number):
        x = torch.full((4, 6), float(number)) + torch.arange(6)
        if layout == "expanded":
            return x[:1].expand(4, 6)
        if layout == "strided":
            return x[::2, 1::2]
        return x.t() if layout == "transposed" else x[:0]

    made = recorder(lambda x: (x * 2,))
    kept = [make(number) for number in range(4)]
    for x in kept:
        assert torch.equal(made(x)[0], x * 2)
    assert replays(made) == 3


def test_many_inputs_are_copied_at_once():
    made = recorder(lambda *xs: (sum(xs),))
    for number in range(4):
        xs = [torch.full((3,), float(number + i)) for i in range(5)]
        assert torch.equal(made(*xs)[0], sum(xs))
    assert replays(made) == 3


def test_parameters_are_not_copied_and_may_move():
    made = recorder(lambda w, x: (w * x,), static=frozenset({0}))
    w = nn.Parameter(torch.ones(3))
    for number in range(6):
        if number == 3:
            w.data = torch.full((3,), 5.0)
        x = torch.full((3,), float(number))
        with torch.no_grad():
            result = made(w, x)[0]
        assert torch.equal(result, w.detach() * x)
        del result
    assert 0 in made._recordings[0].plan.pinned
    assert len(made.api.graphs) == 2


def test_numbers_and_sizes_are_part_of_the_key():
    made = recorder(lambda x, k: (x * k,), numbers=(1,), sizes=((0, 0),))
    inputs = torch.ones(2), torch.ones(3)
    for _ in range(3):
        for x in inputs:
            for k in (2, 2.5):
                assert torch.equal(made(x, k)[0], x * k)
    assert len(made.api.graphs) == 4


def test_the_number_of_graphs_is_bounded():
    made = recorder(lambda x, k: (x * k,), numbers=(1,), limit=2)
    for k in (1, 1, 2, 2, 3, 3, 1, 1):
        assert float(made(torch.ones(3), k)[0][0]) == k
    assert len(made._recordings) == 2
    for k in range(10, 30):
        for _ in range(2):
            assert float(made(torch.ones(3), k)[0][0]) == k
    assert any("recorded too often" in note for note in made.notes if note)


def test_numbers_that_never_come_again_are_noted():
    made = recorder(lambda x, k: (x * k,), numbers=(1,))
    for k in range(80):
        made(torch.ones(3), k)
    assert len(made.notes) == 1
    assert made.notes[0].startswith("the calls pass ever new sizes and numbers")


# Writes -------------------------------------------------------------------------------


def increment(x, y):
    x.add_(y)
    return (x * 2,)


def test_written_inputs_are_written_where_they_are():
    made = recorder(increment, written=frozenset({0}))
    x = torch.zeros(3)
    for number in range(1, 6):
        version = x._version
        assert float(made(x, torch.ones(3))[0][0]) == 2 * number
        assert float(x[0]) == number
        assert x._version > version
    assert replays(made) == 4


def test_writes_to_another_tensor():
    made = recorder(increment, written=frozenset({0}))
    for _ in range(3):
        x, z = torch.zeros(3), torch.full((3,), 5.0)
        for tensor in (x, z, x, z):
            before = tensor.clone()
            made(tensor, torch.ones(3))
            assert torch.equal(tensor, before + 1)


def test_a_copied_input_that_shares_memory_with_a_written_one():
    def shift(x, y):
        x[1:].copy_(y + 0)
        return (x + 0,)

    made = recorder(shift, written=frozenset({0}))
    x = torch.arange(4.0)
    for number in range(4):
        made(x, torch.full((3,), float(number)))
    count = replays(made)
    assert count == 3
    x = x.copy_(torch.arange(4.0))
    assert made(x, x[:-1])[0].tolist() == [0.0, 0.0, 1.0, 2.0]
    assert replays(made) == count


# Results ------------------------------------------------------------------------------


def test_results_that_are_inputs_or_views_of_them():
    made = recorder(lambda x, y: (x, y[1:], 3, x + y), returned=frozenset(range(4)))
    for number in range(4):
        x = torch.full((3,), float(number))
        y = torch.arange(4.0)[1:] + number
        given, view, size, total = made(x, y)
        assert given is x
        assert view.data_ptr() == y[1:].data_ptr()
        assert view._base is not None
        assert size == 3
        assert torch.equal(total, x + y)


def test_results_that_share_memory():
    def program(x):
        y = x + 1
        return y, y[1:], y.view(-1)

    made = recorder(program, returned=frozenset(range(3)))
    for number in range(5):
        y, tail, flat = made(torch.full((3,), float(number)))
        assert torch.equal(y[1:], tail)
        tail.fill_(7)
        assert y.tolist() == [number + 1.0, 7.0, 7.0]
        assert flat.data_ptr() == y.data_ptr()


def test_a_view_of_a_result_keeps_it():
    made = recorder(lambda x: (x * 2,))
    x = torch.ones(LARGE)
    made(x)
    tail = made(x)[0][3:]
    made(x + 1)
    made(x + 2)
    assert tail.eq(2).all()


def test_resizing_a_result_does_no_harm():
    made = recorder(lambda x: (x * 2,))
    for number in range(6):
        x = torch.full((LARGE,), float(number))
        result = made(x)[0]
        assert result.eq(2 * number).all()
        result.resize_(4 * LARGE).fill_(3)


def test_inference_mode():
    made = recorder(add_one)
    for number in range(4):
        with torch.inference_mode(number % 2 == 0):
            x = torch.full((3,), float(number))
            assert float(made(x)[0][0]) == number + 1


# Training -----------------------------------------------------------------------------


def test_saved_values_between_forward_and_backward():
    api = FakeApi()
    forward = recorder(lambda x: ((x * 2).sum(), x * 3), api=api)
    backward = recorder(
        lambda box, g: (box.pop() * g,), api=api, donated=1, returned=frozenset()
    )
    backward._shared = forward._shared
    for number in range(6):
        x = torch.full((LARGE,), float(number))
        loss, saved = forward(x)
        assert float(loss) == 2 * number * LARGE
        box = [saved]
        del saved
        (gradient,) = backward(box, torch.ones(()))
        assert box == []
        assert gradient.eq(3 * number).all()
    assert len(api.graphs) <= 4
    assert backward.notes.count(None) >= 1
    assert 0 in backward._recordings[0].plan.pinned


def test_two_forwards_before_their_backwards():
    api = FakeApi()
    forward = recorder(lambda x: ((x * 2).sum(), x * 3), api=api)
    backward = recorder(
        lambda box, g: (box.pop() * g,), api=api, donated=1, returned=frozenset()
    )
    backward._shared = forward._shared
    gradients = []
    for number in range(5):
        boxes = []
        for k in (1, 2):
            x = torch.full((LARGE,), float(number * k))
            boxes.append([forward(x)[1]])
        for k, box in zip((1, 2), boxes, strict=True):
            (gradient,) = backward(box, torch.ones(()))
            assert gradient.eq(3 * number * k).all()
            gradients.append((3 * number * k, gradient))
    for expected, gradient in gradients:
        assert gradient.eq(expected).all()


# Surroundings -------------------------------------------------------------------------


def test_another_stream_waits_for_the_last():
    made = recorder(add_one)
    for stream in (1, 1, 1, 2, 2, 1):
        made.api.handle = stream
        made(torch.zeros(3))
    assert made.api.waits == [1, 2]


def test_a_stream_that_somebody_records_gets_the_program():
    made = recorder(add_one)
    for _ in range(3):
        made(torch.zeros(3))
    made.api.capturing = True
    count = made.program.calls
    made(torch.zeros(3))
    assert made.program.calls == count + 1


def test_a_program_that_cannot_be_recorded_runs_on():
    def program(x):
        x.sum().item()
        if calls:
            raise RuntimeError("no waiting here\nmore")
        return (x + 1,)

    calls = []
    made = recorder(program, calls=(("aten._local_scalar_dense.default", "f.py:3"),))
    made(torch.zeros(3))
    calls.append(1)
    with pytest.raises(RuntimeError, match="no waiting"):
        made(torch.zeros(3))
    (note,) = made.notes
    assert "_local_scalar_dense" in note
    assert "no waiting here (f.py:3)" in note
    assert "more" not in note
    calls.clear()
    assert float(made(torch.zeros(3))[0][0]) == 1
    assert not made.api.graphs


def test_inputs_on_another_device():
    made = recorder(lambda x: (x,))
    x = torch.zeros(3, device="meta")
    made(x)
    made(x)
    assert made.notes == ["input 0 is no plain tensor on the device"]


def test_memory_of_another_device():
    made = recorder(lambda x: (x.to("meta"), x + 1)[1:], calls=(("x", "y"),))
    made(torch.zeros(3))
    made(torch.zeros(3))
    (note,) = made.notes
    assert "meta" in note


def test_forgetting_frees_and_later_calls_record_again():
    made = recorder(add_one)
    kept = [made(torch.full((LARGE,), float(n)))[0] for n in range(3)]
    made.forget()
    assert not made._recordings
    assert not made._shared.lent
    kept += [made(torch.full((LARGE,), float(n)))[0] for n in range(3, 6)]
    assert [float(value[0]) for value in kept] == [n + 1.0 for n in range(6)]


# Anything -----------------------------------------------------------------------------


def anything(state, x, y, k):
    """Writes, views, results that are inputs, large and small results."""
    total = x.sum() + y.sum() * k
    state.add_(total)
    big = (x[:1] * k).expand(LARGE) + 0
    return state * 2, big, big[1:], x, y[2:], total, k


def check_fresh(results, expected):
    for mine, theirs in zip(results, expected, strict=True):
        if isinstance(theirs, torch.Tensor):
            assert torch.equal(mine, theirs)
        else:
            assert mine == theirs


@pytest.mark.parametrize("seed", range(3))
def test_any_calls(seed):
    chooser = random.Random(seed)
    made = recorder(
        anything,
        written=frozenset({0}),
        numbers=(3,),
        returned=frozenset(range(chooser.choice((4, 7)))),
    )
    made.api.free = chooser.choice((1000, 100_000, 1 << 40))
    base = torch.arange(16.0)
    tensors = [torch.randn(8) for _ in range(3)] + [base[:8], base[8:], base[4:12]]
    states, kept = [torch.zeros(8) for _ in range(2)] + [base[:8]], []
    for _ in range(60):
        state, k = chooser.choice(states), chooser.choice((1, 2))
        made.api.handle = chooser.choice((1, 1, 1, 2))
        inputs = [
            chooser.choice(tensors) if chooser.random() < 0.8 else torch.randn(8)
            for _ in range(2)
        ]
        whole = [t.untyped_storage() is base.untyped_storage() for t in inputs]
        if any(whole) and state.data_ptr() == base.data_ptr():
            continue  # a program leaves calls with such arguments to eager
        before, copies = state.clone(), [t.clone() for t in inputs]
        results = made(state, *inputs, k)
        check_fresh(results, anything(before, *copies, k))
        assert torch.equal(state, before)
        kept.append((results[:3], [r.clone() for r in results[:3]]))
        while kept and chooser.random() < 0.6:
            kept.pop(chooser.randrange(len(kept)))
        for mine, theirs in kept:
            check_fresh(mine, theirs)
    assert replays(made) > 10
