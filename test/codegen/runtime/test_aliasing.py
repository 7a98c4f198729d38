"""Results share storage, strides and offsets as in eager; mutated inputs change."""

import pytest
import torch
import torch.nn.functional as F

import girih

CASES = {}


def case(*shapes):
    """Registers a function with inputs of these shapes (or made by functions)."""

    def register(function):
        CASES[function.__name__] = (function, shapes)
        return function

    return register


def rows(*indices):
    return lambda: torch.tensor(indices)


def strided(*shape):
    return lambda: torch.randn([2 * size for size in shape])[
        (slice(None, None, 2),) * 2
    ]


@case((4, 4))
def mutated_and_returned(x):
    x.add_(1)
    return x


@case((4, 4))
def mutated(x):
    x.add_(1)
    return x * 2


@case(strided(5, 6))
def mutated_with_gaps(x):
    x.add_(1)
    return x * 2


@case((0, 4))
def mutated_and_empty(x):
    x.add_(1)
    return x * 2


@case((4,), (4,))
def swapped(x, y):
    t = x.clone()
    x.copy_(y)
    y.copy_(t)
    return x + y


@case((4,), (4,))
def mutated_in_turns(x, y):
    x += y
    y += x
    return x * y


@case((4, 4))
def view_mutated(x):
    y = x[1:]
    y.mul_(2)
    return x.sum(), y


@case((3, 4))
def column_assigned(x):
    x[:, 0] = x[:, 1]
    return x


@case((4, 3), rows(0, 2))
def rows_assigned(x, i):
    x[i] = 3.0
    return x.sum()


@case((2, 8, 4), (2, 1, 4), rows(3))
def cache_updated(cache, k, i):
    cache.index_copy_(1, i, k)
    cache[:, i + 1] = k
    return cache.sum(1)


@case((2, 8, 4), (2, 1, 4), rows(3))
def cache_scattered(cache, k, i):
    cache.scatter_add_(1, i.reshape(1, 1, 1).expand(2, 1, 4), k)
    return cache * 2, cache[0]


@case((3,))
def zeroed(x):
    x.zero_()


@case((3, 4))
def detached_and_mutated(x):
    y = x.detach()
    y += 1
    return y


@case((3, 4))
def temporary_mutated_through_a_view(x):
    y = x.exp()
    y.t().add_(1)
    return y


@case((3,))
def temporary_filled(x):
    y = torch.empty_like(x)
    y.copy_(x)
    y.fill_(2)
    return y


@case((5, 3), (3,))
def running_mean_updated(x, mean):
    mean.mul_(0.9).add_(x.mean(0) * 0.1)
    return x - mean


@case((4, 4))
def read_before_and_after(x):
    before = x.t() * 2
    x.mul_(3)
    return before, x.t() * 2


@case((4, 4))
def mutated_by_its_transpose(x):
    x.add_(x.t().clone())
    return x.sum()


@case((4, 4))
def views_of_an_input(x):
    return x.t(), x[1:], x.view(-1), x


@case((4, 4))
def views_of_a_result(x):
    y = x + 1
    return y, y.t(), y[1:]


@case((4,))
def one_result_twice(x):
    y = x * 2
    return y, y


@case((4,))
def clone_and_input(x):
    return x.clone(), x


@case((3, 4))
def expanded(x):
    return x.expand(3, 3, 4), x.unsqueeze(0)


@case((3, 4), (4, 5))
def transposed_product(x, w):
    return (x @ w).t(), torch.relu(x @ w)


@case((4, 4))
def reshaped_and_sliced(x):
    return x.reshape(-1)[::2]


@case((4, 4))
def flattened(x):
    return x.flatten(), x.t().flatten()


@case((0, 4))
def flattened_and_empty(x):
    return x.flatten(), x.t().flatten()


@case((2, 2))
def created(x):
    return torch.zeros(3, 4), torch.ones_like(x), torch.arange(5)


@case((6, 2))
def split(x):
    return x.split(2)


@case((6, 2))
def chunked(x):
    a, b = x.chunk(2)
    return a + b, a


@case((2, 3, 4))
def permuted(x):
    return x.permute(2, 0, 1).contiguous(), x.permute(2, 0, 1), (x * 2).permute(2, 0, 1)


@case(strided(5, 6))
def transposed_with_gaps(x):
    return x.transpose(0, 1).relu(), x


@case((2, 3, 4, 4))
def channels_last(x):
    memory_format = torch.channels_last
    return x.to(memory_format=memory_format), (x * 2).to(memory_format=memory_format)


@case((4, 4), rows(0, 3, 2, 1))
def indexed(x, i):
    return x[i], x.gather(0, i[:, None]), F.embedding(i, x)


@case((2, 3))
def concatenated(x):
    return torch.cat([x, x * 2]), torch.stack([x, x])


def inputs_of(shapes):
    torch.manual_seed(0)
    return [make() if callable(make) else torch.randn(make) for make in shapes]


def tensors(values):
    values = values if isinstance(values, (tuple, list)) else [values]
    return [value for value in values if isinstance(value, torch.Tensor)]


def sharing(values):
    """For each tensor, the position of the first one that shares its storage."""
    storages = [value.untyped_storage().data_ptr() for value in values]
    return [
        index if value.numel() == 0 else storages.index(storage)
        for index, (value, storage) in enumerate(zip(values, storages, strict=True))
    ]


def layout(value):
    return value.dtype, value.shape, value.stride(), value.storage_offset()


@torch.no_grad()
@pytest.mark.parametrize("name", CASES)
def test_as_in_eager(name):
    function, shapes = CASES[name]
    compiled = girih.compile(function, fullgraph=True)
    ours, eagers = inputs_of(shapes), inputs_of(shapes)
    for _ in range(2):
        got, expected = tensors(compiled(*ours)), tensors(function(*eagers))
        torch.testing.assert_close(got, expected)
        torch.testing.assert_close(ours, eagers)
        assert sharing(ours + got) == sharing(eagers + expected)
        assert [layout(x) for x in got] == [layout(x) for x in expected]
        mutated = [x._version > 0 for x in ours]
        assert mutated == [x._version > 0 for x in eagers]


@torch.no_grad()
def test_index_out_of_range_raises_eagers_error():
    def function(x, i):
        return F.embedding(i, x * 2)

    compiled = girih.compile(function, fullgraph=True)
    x = torch.randn(4, 3)
    torch.testing.assert_close(compiled(x, torch.tensor([1])), 2 * x[1:2])
    with pytest.raises(IndexError) as expected:
        function(x, torch.tensor([4]))
    with pytest.raises(IndexError) as got:
        compiled(x, torch.tensor([4]))
    assert str(got.value) == str(expected.value)


@torch.no_grad()
@pytest.mark.parametrize("share", [lambda x: x[:], lambda x: x[1:3], torch.t])
def test_arguments_that_share_memory_with_a_mutated_one(share):
    def function(x, y):
        x.add_(1)
        return x.sum() + y

    compiled = girih.compile(function)
    separate = torch.zeros(4), share(torch.zeros(4)).clone()
    compiled(*separate)
    ours, eagers = torch.zeros(4), torch.zeros(4)
    with pytest.warns(girih.FallbackWarning, match="shares memory"):
        result = compiled(ours, share(ours))
    assert torch.equal(result, function(eagers, share(eagers)))
    assert torch.equal(ours, eagers)


@torch.no_grad()
@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize(
    "make",
    [
        lambda n: torch.ones(1).expand(n),
        lambda n: torch.arange(3.0).expand(n, 3),
        lambda n: torch.arange(n + 1.0).as_strided((n, 2), (1, 1)),
        lambda n: torch.arange(40.0).as_strided((2, n, n), (6, 1, 1)),
    ],
    ids=["expanded", "expanded rows", "windows", "squares of windows"],
)
def test_written_arguments_that_overlap_themselves(make, dynamic):
    """A write to one element is one to all that lie in its place."""

    def function(x):
        x[0].add_(1)
        return x * 2

    compiled = girih.compile(function, dynamic=dynamic)
    ours, eagers = make(5), make(5)
    with pytest.warns(girih.FallbackWarning, match="shares memory"):
        result = compiled(ours)
    assert torch.equal(result, function(eagers))
    assert torch.equal(ours, eagers)


@torch.no_grad()
@pytest.mark.parametrize(
    "make",
    [
        lambda: torch.arange(12.0).view(3, 4)[:, ::2],
        lambda: torch.arange(12.0).view(3, 4).t(),
        lambda: torch.arange(12.0).view(1, 12).expand(1, 12),
    ],
    ids=["gaps", "turned", "one row"],
)
def test_written_arguments_that_do_not_overlap(make, recwarn):
    compiled = girih.compile(lambda x: x[0].add_(1) * 2, options={"fallback": False})
    ours, eagers = make(), make()
    compiled(ours)
    eagers[0].add_(1)
    assert torch.equal(ours, eagers)


@torch.no_grad()
@pytest.mark.parametrize("dynamic", [None, True])
def test_a_write_beside_an_argument_that_is_not_read(dynamic):
    """The graph after ``t_`` gets x and a view of it, and reads the view alone."""

    def function(x):
        view = x.view(-1)[1:]
        x.t_()
        view[0] = 5
        return view, x

    options = {"fallback": False}
    ours, eagers = torch.ones(4, 3), torch.ones(4, 3)
    found = girih.compile(function, dynamic=dynamic, options=options)(ours)
    for mine, wanted in zip(found, function(eagers), strict=True):
        assert torch.equal(mine, wanted)
        assert mine.stride() == wanted.stride()
    assert torch.equal(ours, eagers)


@pytest.mark.filterwarnings("ignore::girih.FallbackWarning")
@pytest.mark.parametrize("reads", ["values", "gradients"])
def test_a_write_beside_an_argument_that_is_read(reads):
    """What is kept for a backward pass is read after the write."""

    def function(x, view):
        view[0] = 5
        return x * 2 if reads == "values" else view.sum()

    results = []
    for run in (function, girih.compile(function)):
        x = torch.ones(3, requires_grad=reads == "gradients")
        if reads == "values":
            results.append(run(x, x[1:]))
        else:
            whole = x * 2
            (gradient,) = torch.autograd.grad(run(whole, whole[1:]), x)
            results.append(gradient)
    assert torch.equal(*results)
