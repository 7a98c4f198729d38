"""The entry points one by one, called as LLVM's code would call them."""

import ctypes

import pytest
import torch

from girih.codegen.cpu import _openmp

SYMBOLS = _openmp.symbols()
POINTER = ctypes.c_void_p
MICROTASK = ctypes.CFUNCTYPE(
    None, ctypes.POINTER(ctypes.c_int32), ctypes.POINTER(ctypes.c_int32), POINTER
)
STATIC, STATIC_CHUNKED = 34, 33


def _function(name, result, *arguments):
    return ctypes.CFUNCTYPE(result, *arguments)(SYMBOLS[name])


fork_call_if = _function(
    "__kmpc_fork_call_if",
    None,
    POINTER,
    ctypes.c_int32,
    MICROTASK,
    ctypes.c_int32,
    POINTER,
)
thread_number = _function("__kmpc_global_thread_num", ctypes.c_int32, POINTER)
serialized = _function("__kmpc_serialized_parallel", None, POINTER, ctypes.c_int32)
end_serialized = _function(
    "__kmpc_end_serialized_parallel", None, POINTER, ctypes.c_int32
)

INTEGERS = {
    "4": ctypes.c_int32,
    "4u": ctypes.c_uint32,
    "8": ctypes.c_int64,
    "8u": ctypes.c_uint64,
}


def _share(suffix, lower, upper, increment=1, schedule=STATIC, chunk=0):
    """This thread's bounds and stride, and whether it has the last iteration."""
    integer = INTEGERS[suffix]
    pointers = [ctypes.POINTER(ctypes.c_int32), *[ctypes.POINTER(integer)] * 3]
    signed = INTEGERS[suffix[0]]
    init = _function(
        f"__kmpc_for_static_init_{suffix}",
        None,
        POINTER,
        ctypes.c_int32,
        ctypes.c_int32,
        *pointers,
        signed,
        signed,
    )
    last = ctypes.c_int32(0)
    bounds = [integer(lower), integer(upper), integer(0)]
    init(None, 0, schedule, last, *bounds, increment, chunk)
    return (*(bound.value for bound in bounds), bool(last.value))


def _in_team(threads, function, parallel=1):
    """What each member of a parallel region computes, by thread number."""
    results = {}

    def body(thread, bound, arguments):
        results[thread[0]] = function()

    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        fork_call_if(None, 1, MICROTASK(body), parallel, None)
    finally:
        torch.set_num_threads(before)
    return results


@pytest.mark.parametrize("suffix", INTEGERS)
@pytest.mark.parametrize("count", [1, 2, 3, 7, 100])
def test_static_shares_cover_all_iterations_once(suffix, count):
    for threads in (1, 2, 3):
        shares = _in_team(threads, lambda: _share(suffix, 5, 5 + count - 1))
        assert sorted(shares) == list(range(threads))
        covered, last = [], []
        for number in range(threads):
            lower, upper, _, is_last = shares[number]
            covered += range(lower, upper + 1)
            last += [is_last] * len(range(lower, upper + 1))
        assert covered == list(range(5, 5 + count))
        assert last[-1] and last.count(True) == len([x for x in last if x])


@pytest.mark.parametrize("suffix", INTEGERS)
def test_a_loop_without_iterations(suffix):
    integer = INTEGERS[suffix]
    shares = _in_team(2, lambda: _share(suffix, 0, integer(-1).value))
    for lower, upper, _, is_last in shares.values():
        assert integer(upper - lower + 1).value == 0
        assert not is_last


def test_steps_and_downward_loops():
    shares = _in_team(2, lambda: _share("8", 0, 9, increment=3))
    assert [shares[i][:2] for i in (0, 1)] == [(0, 3), (6, 9)]
    shares = _in_team(2, lambda: _share("8", 9, 0, increment=-3))
    assert [shares[i][:2] for i in (0, 1)] == [(9, 6), (3, 0)]


def test_chunks():
    shares = _in_team(2, lambda: _share("8", 0, 9, 1, STATIC_CHUNKED, 2))
    assert [shares[i][:3] for i in (0, 1)] == [(0, 1, 4), (2, 3, 4)]
    assert [shares[i][3] for i in (0, 1)] == [True, False]


def test_serial_region_inside_a_team_has_one_member():
    def inside():
        return _in_team(2, lambda: _share("8", 0, 99)[:2], parallel=0)

    assert list(_in_team(2, inside).values()) == [{0: (0, 99)}] * 2


def test_nested_region_inside_a_team_has_one_member():
    def inside():
        return _in_team(2, lambda: _share("8", 0, 99)[:2], parallel=1)

    assert list(_in_team(2, inside).values()) == [{0: (0, 99)}] * 2


def test_serialized_parallel():
    def inside():
        number = thread_number(None)
        serialized(None, number)
        share = _share("8", 0, 99)[:2]
        end_serialized(None, number)
        return share, thread_number(None) == number

    assert list(_in_team(2, inside).values()) == [((0, 99), True)] * 2
