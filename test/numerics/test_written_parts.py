"""Writes to parts of arguments and buffers: values, memory, and what they cost."""

import random

import pytest
import torch
from extent import extent

import girih

SIZES = (6, 5, 4)


def place(draw):
    """Text of an index with ints, slices with steps, and none."""
    parts = []
    for size in SIZES[: draw.randint(1, 3)]:
        kind = draw.random()
        if kind < 0.35:
            parts.append(str(draw.randint(-size, size - 1)))
        elif kind < 0.75:
            start = draw.randint(0, size - 1)
            stop = draw.randint(start, size)
            step = draw.choice(["", "", ":2", ":3"])
            parts.append(f"{start}:{stop}{step}")
        else:
            parts.append(":")
    return ", ".join(parts)


def view(draw):
    """Text of a view of x, whose place is written."""
    turn = draw.choice(["", "", "", ".transpose(0, 2)", ".mT", ".unsqueeze(1)[:, 0]"])
    if turn in (".transpose(0, 2)", ".mT"):
        return f"x{turn}[{draw.choice(['1', '1:3', ':, 1', '2:, ::2', '..., 1:'])}]"
    flat = draw.random()
    if flat < 0.1:
        return "x.view(-1)[3:40:7]"
    if flat < 0.2:
        return "x[1].diagonal()"
    if flat < 0.3:
        return f"x[1:5][{draw.choice(['0', '1:3', ':, 2', '2, 1:'])}]"
    return f"x{turn}[{place(draw)}]"


def statement(draw):
    """A line that writes a part, or reads something."""
    kind = draw.random()
    if kind < 0.25:
        return f"{view(draw)}.add_({draw.choice(['1', 'k.sum()', 'x[0, 0, 0] * 2'])})"
    if kind < 0.45:
        return f"v = {view(draw)}; v.copy_(v * 2 + {draw.choice(['1', 'k.mean()'])})"
    if kind < 0.6:
        return f"v = {view(draw)}; v.mul_(x.sum() * 0.01)"
    if kind < 0.7:
        return f"x[1:] = x[:-1] * {draw.choice(['1', '0.5'])}"
    if kind < 0.8:
        return "x[2:4, 1] = k[:2, :4]"
    if kind < 0.86:
        return "x[k[0, :3].long().clamp(0, 5)] = k[1, 0]"
    return draw.choice(
        ["r.append(x * 2)", "r.append(x.clone())", "r.append(x[1:3].sum())"]
        + [
            "r.append((x[0] * k[0, :4]).exp())",
            "r.append(x.mean((0, 2)))",
            "x.mul_(0.5)",
        ]
    )


def program(seed):
    """The text of a function that writes parts of x."""
    draw = random.Random(seed)
    lines = [statement(draw) for _ in range(draw.randint(1, 5))]
    body = "\n    ".join(lines)
    last = draw.choice(["r", "r + [x[1]]", "r + [x.sum()]", "r + [x]"])
    return f"def f(x, k):\n    r = []\n    {body}\n    return {last}"


def layouts(seed):
    """An x with its first element at a multiple of 16 bytes, and k.

    x as it is allocated, turned, or as a part of a larger tensor.
    """
    generator = torch.Generator().manual_seed(seed)
    whole = torch.randn(8, 7, 6, generator=generator, dtype=torch.float64)
    k = torch.rand(4, 5, generator=generator, dtype=torch.float64) * 5
    given = [
        whole[:6, :5, :4].contiguous(),
        whole.permute(2, 1, 0)[:6, :5, :4].contiguous().permute(0, 1, 2),
        whole[2:, 2:, 2:],
        whole[:6, :5, :4].contiguous().mT.contiguous().mT,
    ]
    return given[seed % len(given)], k


def overwritten(x, k, i):
    """What is written in between covers what one kernel makes before."""
    a, b = k[0] * 2, k[0] * 3
    x[3] = a
    x[1:] = 0
    x[2] = b


def rows(x, k, i):
    for n in range(4):
        x[n] = k[0] * n


def turned_in_between(x, k, i):
    a, b = k[0] + 1, k[0] - 1
    x[:, 1] = a[:4]
    x[2] = b
    x[1:3, 1:3] = a[0]


@pytest.mark.parametrize("function", [overwritten, rows, turned_in_between])
@pytest.mark.parametrize("dynamic", [False, True])
def test_order(function, dynamic):
    compiled = girih.compile(function, dynamic=dynamic, options={"fallback": False})
    for _ in range(2):
        x, k = torch.randn(4, 5), torch.randn(3, 5)
        other = x.clone()
        function(x, k, None)
        compiled(other, k, None)
        torch.testing.assert_close(other, x)


def outcome(function, x, k):
    """What a call returns and leaves in x, or its error."""
    try:
        results = function(x, k)
    except (RuntimeError, IndexError) as error:
        return str(error), x
    return [result.clone() for result in results], x


def check(seed, **options):
    text = program(seed)
    names = {}
    exec(text, {"torch": torch}, names)  # noqa: S102
    function = names["f"]
    compiled = girih.compile(function, options={"fallback": False}, **options)
    for number in (seed, seed + 4):
        x, k = layouts(number)
        base = x.clone() if x._base is None else None
        other = x.clone(memory_format=torch.preserve_format)
        if base is None:
            other = x._base.clone()
            other = other.as_strided(x.shape, x.stride(), x.storage_offset())
        expected, left = outcome(function, x, k)
        actual, kept = outcome(compiled, other, k)
        if isinstance(expected, str):
            assert actual == expected, text
        else:
            assert not isinstance(actual, str), text + actual
            torch.testing.assert_close(actual, expected, msg=lambda m: text + m)
        torch.testing.assert_close(kept, left, msg=lambda m: text + m)
        if x._base is not None:
            torch.testing.assert_close(other._base, x._base, msg=lambda m: text + m)


@pytest.mark.parametrize("seed", range(extent(24, long=300)))
@pytest.mark.parametrize("dynamic", [False, True])
def test_random_programs(seed, dynamic):
    check(seed, dynamic=dynamic)


@pytest.mark.parametrize("seed", range(1000, 1000 + extent(10, long=100)))
def test_random_programs_on_a_gpu(device, seed):
    check(seed)


class Cache(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("keys", torch.zeros(2, 3, 16, 4))
        self.table = torch.nn.Embedding(10, 4)

    def forward(self, token, position: int):
        key = self.table(token).view(2, 1, 4).expand(2, 3, 4)
        self.keys[:, :, position] = key
        return (self.keys[:, :, : position + 1] * key[:, :, None]).sum(-1).softmax(-1)


def test_a_cache():
    module = Cache().requires_grad_(False)
    twin = Cache().requires_grad_(False)
    twin.load_state_dict(module.state_dict())
    compiled = girih.compile(twin, options={"fallback": False})
    for position in range(6):
        token = torch.randint(10, (2,))
        torch.testing.assert_close(compiled(token, position), module(token, position))
        torch.testing.assert_close(twin.keys, module.keys)
    with pytest.raises(IndexError):
        compiled(torch.tensor([3, 10]), 7)
    torch.testing.assert_close(twin.keys, module.keys)


def test_gradients_go_through_a_part():
    def function(x, k):
        y = k.exp()
        x[1] = y
        x[:, 2].mul_(k.sum())
        return (x * k).sum()

    compiled = girih.compile(function, options={"fallback": False})
    x = torch.randn(4, 5, dtype=torch.float64)
    k = torch.randn(5, dtype=torch.float64, requires_grad=True)
    other, twin = x.clone(), k.detach().clone().requires_grad_()
    (wanted,) = torch.autograd.grad(function(x, k), k, create_graph=True)
    (found,) = torch.autograd.grad(compiled(other, twin), twin, create_graph=True)
    torch.testing.assert_close(found, wanted)
    torch.testing.assert_close(other, x)
    torch.testing.assert_close(
        torch.autograd.grad(found.square().sum(), twin),
        torch.autograd.grad(wanted.square().sum(), k),
    )


DTYPES = (torch.bool, torch.int8, torch.complex64, torch.bfloat16, torch.float8_e4m3fn)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("step", [1, 2])
def test_elements(dtype, step):
    def function(x, k):
        x[1:4:step] = k[: (4 - step) // step + step - 1]
        x[0, 1].fill_(1)

    compiled = girih.compile(function, options={"fallback": False})
    x, k = (torch.randn(shape).mul(9).to(dtype) for shape in ((5, 4), (3, 4)))
    other = x.clone()
    rows = 3 if step == 1 else 2
    k = k[:rows].repeat(2, 1)
    function(x, k[: (4 - step) // step + step - 1])
    compiled(other, k[: (4 - step) // step + step - 1])
    assert torch.equal(other.view(torch.uint8), x.view(torch.uint8))


@pytest.mark.parametrize(
    "write", ["x[3].add_(1)", "x[:, 5] = 2", "x[2:9:3, 1:4] = x[:3, :3]"]
)
def test_a_write_costs_what_its_part_costs(write, tmp_path):
    """No kernel has the domain of the whole tensor."""
    names = {}
    exec(f"def f(x): {write}", {}, names)  # noqa: S102
    options = {"fallback": False, "dump_dir": tmp_path}
    girih.compile(names["f"], options=options)(torch.randn(1000, 999))
    (path,) = tmp_path.glob("*/*host.mlir")
    text = path.read_text()
    assert "domain [" in text
    assert "domain [1000, 999]" not in text
    assert "host.copy" not in text


def added(x, k, i):
    x[1].add_(1)


def copied(x, k, i):
    x[1] = k[0]


def looked_up(x, k, i):
    """A kernel that may fail comes first, so ATen copies the part."""
    x[1] = k[i].sum(0)


def put(x, k, i):
    x[1:][:, i] = 0.0


@pytest.mark.parametrize("function", [added, copied, looked_up, put])
def test_autograd_notices_the_write(function):
    compiled = girih.compile(function, options={"fallback": False})
    k, i = torch.randn(3, 5), torch.tensor([0, 2])
    for _ in range(2):
        x, y = torch.randn(4, 5), torch.randn(4, 5, requires_grad=True)
        product, version = (x * y).sum(), x._version
        compiled(x, k, i)
        assert x._version > version
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            product.backward()


def two_of_one_kernel(x, k, i):
    """The first write goes to a copy, which is not there when the kernel runs."""
    v = x[1:, 1:]
    v[0] = k[0, :4].sin()
    v[1] = k[0, :4].cos()


def two_columns(x, k, i):
    x[:3, 0] = k[:, 0].sin()
    x[:3, 1] = k[:, 0].cos()


def swapped(x, k, i):
    for n in range(2):
        x[n] = x[1 - n] * 0.5


def indexed(x, k, i):
    x[i] = k[:2]
    x.index_add_(0, i, k[1:])


def scattered(x, k, i):
    x.index_put_((i,), k[:2], accumulate=True)
    x.masked_fill_(x > 1, 0.0)
    x.index_copy_(0, i, k[1:])


WRITERS = [two_of_one_kernel, two_columns, swapped, indexed, scattered]


@pytest.mark.parametrize("function", WRITERS)
@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("kind", ["argument", "made", "part", "computed"])
def test_two_writes(function, dynamic, kind):
    def program(memory, k, i):
        x = {
            "argument": lambda: memory,
            "made": lambda: torch.zeros(6, 7)[1:5, 1:6],
            "part": lambda: memory[:, :],
            "computed": lambda: (memory * 2)[:, :],
        }[kind]()
        function(x, k, i)
        return x * 1

    compiled = girih.compile(program, dynamic=dynamic, options={"fallback": False})
    for whole in (torch.randn(4, 5), torch.randn(5, 4).mT, torch.randn(6, 7)[2:, 2:]):
        memory = whole.clone() if whole._base is None else whole
        base = memory if memory._base is None else memory._base
        k, i = torch.randn(3, 5), torch.tensor([2, 0])
        before = base.clone()
        expected, left = program(memory, k, i), base.clone()
        base.copy_(before)
        torch.testing.assert_close(compiled(memory, k, i), expected)
        torch.testing.assert_close(base, left)


def test_diagonals_of_made_tensors_cost_what_they_write():
    """The base is made by a kernel or a call, and the diagonal is put into it."""

    def filled():
        z = torch.zeros(40, 40)
        z.diagonal().fill_(2)
        return z

    def added(x):
        z = x + 1
        z.diagonal().add_(x[0])
        return z, z.sum()

    def distances(x):
        d = torch.cdist(x[:, :4], x[:, :4])
        d.fill_diagonal_(float("inf"))
        return d.argmin(1), d

    def read_before(x):
        z = x * 2
        y = z.sum(1)
        z.view(-1)[::41] = y
        return z, y

    def read_behind(x):
        z = x * 2
        w = z.clone()
        w.diagonal().mul_(3)
        return z + w

    x = torch.randn(40, 40)
    for f, inputs in (
        (filled, ()),
        (added, (x,)),
        (distances, (x,)),
        (read_before, (x,)),
        (read_behind, (x,)),
        (added, (x.t(),)),
        (read_before, (torch.randn(40, 80)[:, ::2],)),
    ):
        compiled = girih.compile(f, options={"fallback": False})
        torch.testing.assert_close(compiled(*inputs), f(*inputs))
        assert "floor_divide" not in str(girih.report(compiled))
