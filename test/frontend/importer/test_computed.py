"""Numbers that live across a graph break are results of compiled graphs."""

import pytest
import torch
import torch.nn.functional as F
from extent import IS_LONG

import girih

NUMBERS = {
    "equal": lambda x, y, n, a: x.shape[0] == y.shape[0],
    "less": lambda x, y, n, a: x.shape[0] < y.shape[0],
    "both": lambda x, y, n, a: x.shape[0] > 3 and y.shape[0] > 3,
    "not": lambda x, y, n, a: not x.shape[0] == y.shape[0],
    "even": lambda x, y, n, a: x.shape[0] % 2 == 0,
    "size": lambda x, y, n, a: x.shape[0] * 2 - y.shape[0],
    "negative": lambda x, y, n, a: -x.shape[0],
    "number": lambda x, y, n, a: n,
    "sum of numbers": lambda x, y, n, a: n + x.shape[0] * 3,
    "absolute": lambda x, y, n, a: abs(n - x.shape[0]),
    "quotient": lambda x, y, n, a: x.shape[0] / y.shape[0],
    "floor": lambda x, y, n, a: (x.shape[0] - 1) // 2,
    "root": lambda x, y, n, a: x.shape[0] ** 0.5,
    "float": lambda x, y, n, a: a * 2,
    "comparison of a float": lambda x, y, n, a: a > 2.5,
    "elements": lambda x, y, n, a: x.numel() + y.numel(),
    "largest": lambda x, y, n, a: max(x.shape[0], y.shape[0], 5),
    "nothing": lambda x, y, n, a: None,
    "text": lambda x, y, n, a: "text",
    "several": lambda x, y, n, a: (x.shape[0] == y.shape[0], n < 0, a / 2, x.shape),
}
CALLS = [(3, 3, 4, 1.5), (4, 4, -5, 2.5), (5, 6, 7, 3.5), (6, 5, -8, 4.5), (4, 7, 9, 2)]


@pytest.mark.filterwarnings("error::girih.fallbacks.FallbackWarning")
@pytest.mark.parametrize("needs_gradient", [False, True] if IS_LONG else [False])
@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("name", NUMBERS if IS_LONG else ["equal", "several"])
def test_numbers_across_a_graph_break(name, dynamic, needs_gradient):
    def f(x, y, n, a):
        number = NUMBERS[name](x, y, n, a)
        z = (x @ y.T).sin()
        torch._dynamo.graph_break()
        return z + 1, number

    torch.compiler.reset()
    girih.reset()
    compiled = torch.compile(f, backend="girih", dynamic=dynamic)
    for rows, others, n, a in CALLS:
        x = torch.rand(rows, 3, requires_grad=needs_gradient)
        y = torch.rand(others, 3)
        (found, number), (wanted, expected) = compiled(x, y, n, a), f(x, y, n, a)
        torch.testing.assert_close(found, wanted)
        assert type(number) is type(expected) and number == expected
    assert not girih.counters()["eager_calls"]


class Cached(torch.nn.Module):
    """Attention that keeps what it has seen."""

    def __init__(self):
        super().__init__()
        self.projection = torch.nn.Linear(8, 24)

    def forward(self, x, cache):
        query, key, value = self.projection(x).chunk(3, -1)
        if "key" in cache:
            key = torch.cat([cache["key"], key], 1)
            value = torch.cat([cache["value"], value], 1)
        cache["key"], cache["value"] = key, value
        is_first = query.shape[1] == key.shape[1]
        return F.scaled_dot_product_attention(query, key, value, is_causal=is_first)


@pytest.mark.filterwarnings("error::girih.fallbacks.FallbackWarning")
@pytest.mark.parametrize("dynamic", [None, True])
def test_generation_with_a_cache_is_compiled(dynamic):
    torch.compiler.reset()
    girih.reset()
    torch.manual_seed(0)
    model = Cached()
    compiled = torch.compile(model, backend="girih", dynamic=dynamic)
    own, given, x = {}, {}, torch.rand(1, 3, 8)
    with torch.no_grad():
        for _ in range(6):
            wanted, found = model(x, own), compiled(x, given)
            torch.testing.assert_close(found, wanted)
            x = wanted[:, -1:]
    assert not girih.counters()["eager_calls"]
