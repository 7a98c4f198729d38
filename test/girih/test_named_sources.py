"""``torch.compiler.config`` names sizes and numbers that vary."""

import pytest
import torch

import girih

SWITCHES = ("dynamic_sources", "unbacked_sources", "dynamic_values")

if not all(hasattr(torch.compiler.config, name) for name in SWITCHES):
    pytest.skip("torch lacks some of these switches", allow_module_level=True)


def captures(function, calls, **options):
    compiled = girih.compile(function, fullgraph=True, **options)
    before = girih.counters()["captures"]
    for args in calls:
        torch.testing.assert_close(compiled(*args), function(*args))
    return girih.counters()["captures"] - before


def columns(x, y):
    return x * 3, y + 1


def numbers(x, n):
    return x * n


def of_list(given):
    return given["x"][1] * 2


def rows(*sizes):
    return [(torch.randn(size, 3), torch.randn(2)) for size in sizes]


SCALE = torch.ones(4)


def of_global(x):
    return SCALE * x


NAMED = {
    "L['x']": (columns, rows(3, 4, 5)),
    "L['y'], L['x']": (columns, rows(3, 4, 5)),
    "L['x']:0": (columns, rows(3, 4, 5)),
    ".*:0": (columns, rows(3, 4, 5)),
    r"L\['[xy]'\]": (columns, rows(3, 4, 5)),
    "L['n']": (numbers, [(torch.ones(2), n) for n in (3, 4, 5)]),
    "L['n']:1": (numbers, [(torch.ones(2), n) for n in (3, 4, 5)]),
    "L['given']['x'][1]": (
        of_list,
        [({"x": [0, torch.randn(n)]},) for n in (3, 4, 5)],
    ),
}


@pytest.mark.parametrize("names", NAMED)
@pytest.mark.parametrize("switch", SWITCHES[:2])
@pytest.mark.parametrize("dynamic", [None, False])
def test_named_sources_are_symbolic_at_once(names, switch, dynamic):
    function, calls = NAMED[names]
    with torch.compiler.config.patch(switch, names):
        assert captures(function, calls, dynamic=dynamic) == 1
    assert captures(function, calls, dynamic=dynamic) > 1


@pytest.mark.parametrize("names", ["L['y']", "L['x']:1", "L['x1']", "x", ""])
def test_others_are_not(names):
    with torch.compiler.config.patch(dynamic_sources=names):
        assert captures(columns, rows(3, 4, 5), dynamic=False) == 3


def test_small_sizes_are_compiled_for_themselves():
    with torch.compiler.config.patch(dynamic_sources="L['x']"):
        assert captures(columns, rows(5, 1, 0, 6, 7)) == 3


def test_a_name_of_a_module():
    global SCALE
    for names in ("G['SCALE'], L['x']", r"G\[.*, L\['x"):
        with torch.compiler.config.patch(dynamic_sources=names):
            compiled = girih.compile(of_global, fullgraph=True)
            before = girih.counters()["captures"]
            for size in (4, 5, 6):
                SCALE = torch.ones(size)
                assert torch.equal(compiled(torch.ones(size)), torch.ones(size))
            assert girih.counters()["captures"] == before + 1


def test_named_values():
    with torch.compiler.config.patch(dynamic_values="1111, 2222"):
        assert captures(columns, rows(1111, 4, 5), dynamic=False) == 1
        assert captures(columns, rows(4, 1111, 5), dynamic=False) == 2
        calls = [(torch.ones(2), n) for n in (2222, 4, 5)]
        assert captures(numbers, calls, dynamic=False) == 1


def test_a_module_whose_numbers_have_to_be_known():
    model = torch.nn.Sequential(
        torch.nn.Conv2d(3, 4, 3, padding=1), torch.nn.BatchNorm2d(4), torch.nn.Flatten()
    ).eval()
    calls = [(torch.randn(n, 3, 8, 8),) for n in (2, 3, 4)]
    with torch.compiler.config.patch(dynamic_sources=".*"):
        assert captures(model, calls) == 1


class Times(torch.nn.Module):
    def __init__(self, number):
        super().__init__()
        self.number = number

    def forward(self, x):
        return x * self.number


@pytest.mark.parametrize(("names", "count"), [(".*", 3), ("L['self'].number", 1)])
def test_numbers_of_a_module_have_to_be_named(names, count):
    model, x = Times(3), torch.ones(2)
    with torch.compiler.config.patch(dynamic_sources=names):
        compiled = girih.compile(model, fullgraph=True, dynamic=False)
        before = girih.counters()["captures"]
        for number in (3, 4, 5):
            model.number = number
            assert torch.equal(compiled(x), x * number)
        assert girih.counters()["captures"] == before + count


class Forward(torch.nn.Module):
    def forward(self, x, pair, *, scale=2):
        return x * 3 + pair[0].sum() * scale


@pytest.mark.parametrize(
    ("names", "count"),
    [
        ("L['x'], L['pair'][0], L['scale']", 1),
        (r"L\['(x|pair|scale)'\]", 1),
        ("L['args'], L['args'][0], L['args'][1][0], L['kwargs']['scale']", 1),
        ("L['x'], L['pair']:0", 3),
    ],
)
def test_parameters_of_forward(names, count):
    model = Forward()
    with torch.compiler.config.patch(dynamic_sources=names):
        compiled = girih.compile(model, fullgraph=True, dynamic=False)
        before = girih.counters()["captures"]
        for n in (3, 4, 5):
            args = torch.randn(n), (torch.randn(n + 1),)
            expected = model(*args, scale=n)
            torch.testing.assert_close(compiled(*args, scale=n), expected)
        assert girih.counters()["captures"] == before + count


@pytest.mark.filterwarnings("error::girih.FallbackWarning")
def test_the_heads_of_a_transformer_are_known():
    model = torch.nn.TransformerEncoderLayer(16, 2, 32, 0.0, batch_first=True)
    calls = [(torch.randn(n, 7, 16),) for n in (3, 4, 5)]
    with torch.compiler.config.patch(dynamic_sources=".*"):
        assert captures(model, calls) == 1


def test_what_follows_a_break():
    def function(x):
        y = x * 2
        girih.graph_break()
        return y + x

    with torch.compiler.config.patch(dynamic_sources=".*"):
        compiled = girih.compile(function)
        before = girih.counters()["captures"]
        for size in (3, 4, 5):
            x = torch.randn(size)
            torch.testing.assert_close(compiled(x), x * 3)
        assert girih.counters()["captures"] == before + 2


def test_a_wrong_expression_is_told():
    with torch.compiler.config.patch(dynamic_sources="L['x"):
        with pytest.raises(girih.UnsupportedError, match="no regular expression"):
            girih.compile(columns, fullgraph=True)(*rows(3)[0])
        with pytest.warns(girih.FallbackWarning, match="no regular expression"):
            girih.compile(columns)(*rows(3)[0])
