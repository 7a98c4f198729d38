"""What training keeps alive: nothing that eager would not."""

import contextlib
import gc
import weakref

import pytest
import torch
from training_scenario import leaf

import girih


@pytest.fixture(autouse=True)
def fresh_compiler():
    girih.reset()
    yield
    gc.collect()


def compiled(function):
    return girih.compile(function, fullgraph=True, options={"fallback": False})


def assert_compiled(function):
    graphs = girih.report(function).graphs
    assert graphs and all(graph.fallback is None for graph in graphs)


def chain(x):
    for _ in range(4):
        x = (x @ x).tanh()
    return x


def live_bytes():
    """Bytes of all real dense tensors that Python can see, without duplicates."""
    storages = {}
    for candidate in gc.get_objects():
        is_tensor = type(candidate) in (torch.Tensor, torch.nn.Parameter)
        if is_tensor and candidate.layout is torch.strided:
            # Wrappers that other tests left, as those of torch.func, have no memory.
            with contextlib.suppress(RuntimeError):
                storage = candidate.untyped_storage()
                storages[storage.data_ptr()] = storage.nbytes()
    return sum(storages.values())


def test_backward_frees_the_input():
    function = compiled(chain)
    x = leaf(8, 8)
    inner = x * 1
    loss = function(inner).sum()
    gone = weakref.ref(inner)
    del inner
    assert gone() is not None, "the graph keeps what it saved"
    loss.backward()
    assert_compiled(function)
    del loss
    gc.collect()
    assert gone() is None


def test_backward_frees_although_the_loss_lives():
    function = compiled(chain)
    x = leaf(8, 8)
    inner = x * 1
    gone = weakref.ref(inner)
    loss = function(inner).sum()
    del inner
    loss.backward()
    gc.collect()
    assert gone() is None


def test_a_dropped_result_frees_its_graph():
    function = compiled(chain)
    x = leaf(8, 8)
    inner = x * 1
    gone = weakref.ref(inner)
    result = function(inner)
    del inner, result
    gc.collect()
    assert gone() is None


def test_results_have_no_cycles():
    """Without the garbage collector, as in eager."""
    function = compiled(chain)
    x = leaf(8, 8)
    function(x).sum().backward()
    gc.collect()
    gc.disable()
    try:
        inner = x * 1
        gone = weakref.ref(inner)
        loss = function(inner).sum()
        loss.backward()
        del inner, loss
        assert gone() is None
    finally:
        gc.enable()


def test_higher_orders_are_freed():
    function = compiled(chain)
    x = leaf(8, 8)
    inner = x * 1
    gone = weakref.ref(inner)
    loss = function(inner).sum()
    (g,) = torch.autograd.grad(loss, [x], create_graph=True)
    g.sum().backward()
    del inner, loss, g
    gc.collect()
    assert gone() is None


def test_steps_do_not_pile_up():
    model = torch.nn.Sequential(torch.nn.Linear(32, 32), torch.nn.Tanh()).double()
    function = compiled(model)
    data = leaf(16, 32, grad=False)

    def step():
        model.zero_grad()
        function(data).square().mean().backward()

    for _ in range(3):
        step()
    gc.collect()
    before = live_bytes()
    for _ in range(20):
        step()
    gc.collect()
    # What other tests left behind may come and go; a leak is a tensor in each step, and
    # the smallest of a step, the gradient of the bias, has 256 bytes.
    assert live_bytes() - before < 20 * 256


def test_only_what_backward_needs_is_saved():
    """A long chain of cheap ops keeps no more than eager does."""

    def program(x):
        for _ in range(6):
            x = (x.sin() + 1) * 2
        return x.sum()

    function = compiled(program)
    saved: dict[int, int] = {}

    def pack(tensor):
        storage = tensor.untyped_storage()
        saved[storage.data_ptr()] = storage.nbytes()
        return tensor

    x = leaf(1000)
    totals = []
    for run in (program, function):
        saved.clear()
        with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
            run(x)
        totals.append(sum(saved.values()))
    assert_compiled(function)
    assert totals[1] <= totals[0]


def test_a_collected_function_is_gone():
    def program(x):
        return chain(x).sum()

    function = compiled(program)
    x = leaf(4, 4)
    function(x).backward()
    gone = weakref.ref(program)
    del function, program
    girih.reset()
    gc.collect()
    assert gone() is None
