"""``shapes_spec``: what varies by torch's objects, and what is an error."""

import pytest
import torch

import girih

spec = pytest.importorskip("torch.fx.experimental.dynamic_spec")


class Counting:
    """A backend that counts its graphs."""

    def __init__(self):
        self.graphs = 0

    def __call__(self, gm, inputs):
        self.graphs += 1
        return gm.forward


def counted(function, given, **others):
    backend = Counting()
    compiled = girih.compile(function, backend=backend, shapes_spec=given, **others)
    return compiled, backend


def rows(*shape):
    return torch.arange(float(torch.Size(shape).numel())).view(shape)


@pytest.mark.parametrize("wrap", [dict, spec.ParamsSpec, spec.ShapesSpec])
def test_a_named_size_varies_and_others_are_fixed(wrap):
    given = wrap({"x": spec.TensorSpec([spec.ShapeVar("n"), None])})
    compiled, backend = counted(lambda x, y: x + y.sum(), given)
    for n in (3, 5, 1000):
        x = rows(n, 4)
        assert torch.equal(compiled(x, rows(2)), x + rows(2).sum())
    assert backend.graphs == 1
    compiled(rows(3, 5), rows(2))
    compiled(rows(3, 4), rows(6))
    assert backend.graphs == 3
    for n in (0, 1):  # compiled for themselves
        assert torch.equal(compiled(rows(n, 4), rows(2)), rows(n, 4) + 1)
    assert backend.graphs == 5


def test_kernels_with_sizes_that_vary():
    given = {"x": spec.TensorSpec([spec.ShapeVar("n"), spec.ShapeVar("m")])}
    compiled = girih.compile(lambda x: x.softmax(-1) * 2, shapes_spec=given)
    for shape in ((2, 3), (7, 64), (1, 5), (0, 4), (13, 1)):
        x = torch.randn(shape)
        torch.testing.assert_close(compiled(x), x.softmax(-1) * 2)
    assert len(girih.report(compiled).graphs) == 4


def test_ranges_relations_and_assumptions_are_errors():
    n, m = spec.ShapeVar("n", min=2, max=8), spec.ShapeVar("m")
    params = {
        "x": spec.TensorSpec([n]),
        "y": spec.TensorSpec([n]),
        "z": spec.TensorSpec([n * 2 + 1]),
        "w": spec.TensorSpec([m]),
    }
    given = spec.ShapesSpec(params, assumptions=[m > n])

    def function(x, y, z, w):
        return x.sum() + y.sum() + z.sum() + w.sum()

    compiled, backend = counted(function, given)
    for sizes in ((3, 3, 7, 4), (8, 8, 17, 100)):
        inputs = [rows(size) for size in sizes]
        assert torch.equal(compiled(*inputs), function(*inputs))
    assert backend.graphs == 1
    wrong = {
        (9, 9, 19, 20): r"L\['x'\].size\(0\).*n <= 8",
        (1, 1, 3, 20): r"L\['x'\].size\(0\).*n >= 2",
        (3, 4, 7, 20): r"L\['y'\].size\(0\)",
        (3, 3, 8, 20): r"L\['z'\].size\(0\)",
        (3, 3, 7, 3): r"an assumption.*m > n",
        (3, 3, 7, 1): r"an assumption.*m > n",
    }
    for sizes, text in wrong.items():
        with pytest.raises(girih.UnsupportedError, match=f"(?s){text}"):
            compiled(*[rows(size) for size in sizes])
    assert backend.graphs == 1


def test_a_constant_and_a_rank_are_checked():
    compiled, _ = counted(torch.sin, {"input": spec.TensorSpec([4, None])})
    compiled, _ = counted(lambda x: x + 1, {"x": spec.TensorSpec([4, None])})
    compiled(rows(4, 3))
    with pytest.raises(girih.UnsupportedError, match="it is 4, but 5 is given"):
        compiled(rows(5, 3))
    with pytest.raises(girih.UnsupportedError, match="it has 2 dims, but 1 are given"):
        compiled(rows(4))


def test_numbers():
    given = {"n": spec.IntVar("n", max=50), "k": None, "c": 7}
    compiled, backend = counted(lambda x, n, k, c: x * n + k + c, given)
    for n in (3, 4, 50):
        assert torch.equal(compiled(rows(3), n, 2, 7), rows(3) * n + 9)
    assert backend.graphs == 1
    assert torch.equal(compiled(rows(3), 1, 2, 7), rows(3) + 9)
    compiled(rows(3), 3, 3, 7)
    assert backend.graphs == 3
    with pytest.raises(girih.UnsupportedError, match="n <= 50"):
        compiled(rows(3), 51, 2, 7)
    with pytest.raises(girih.UnsupportedError, match="it is 7, but 8 is given"):
        compiled(rows(3), 3, 2, 8)


def test_a_number_that_is_a_size():
    n = spec.IntVar("n")
    given = {"x": spec.TensorSpec([n]), "k": n}
    compiled, backend = counted(lambda x, k: x + k, given)
    for size in (3, 4):
        assert torch.equal(compiled(rows(size), size), rows(size) + size)
    assert backend.graphs == 1
    with pytest.raises(girih.UnsupportedError, match=r"L\['k'\]"):
        compiled(rows(3), 5)


def test_what_has_to_be_fixed_is_an_error():
    compiled, _ = counted(
        lambda x: x + rows(3), {"x": spec.TensorSpec([spec.IntVar()])}
    )
    with pytest.raises(girih.UnsupportedError, match="has to be fixed"):
        compiled(rows(3))
    compiled, _ = counted(lambda x, n: x.sum(n), {"n": spec.IntVar("n")})
    with pytest.raises(girih.UnsupportedError, match="right only for 2"):
        compiled(rows(2, 2, 2), 2)


def test_variadic_arguments_and_containers():
    n = spec.ShapeVar("n")
    size = spec.TensorSpec([n])

    def function(x, *args, **kwargs):
        given = kwargs["d"]
        return x + args[0] + kwargs["k"] + given["a"][0] + given["b"].value

    class Holder:
        def __init__(self, value):
            self.value = value

    given = {
        "x": size,
        "*args": [size],
        "**kwargs": {
            "k": size,
            "d": spec.DictSpec(
                {"a": spec.SeqSpec([size]), "b": spec.ObjectSpec({"value": size})}
            ),
        },
    }
    compiled, backend = counted(function, given)
    for count in (3, 4):
        x = rows(count)
        d = {"a": [x], "b": Holder(x)}
        assert torch.equal(compiled(x, x, k=x, d=d), 5 * x)
    assert backend.graphs == 1


class Scaled(torch.nn.Module):
    def forward(self, x, y=None):
        return x * 2 if y is None else x + y


def test_modules_name_the_arguments_of_forward():
    n = spec.ShapeVar("n")
    given = {"x": spec.TensorSpec([n]), "y": spec.TensorSpec([n])}
    compiled, backend = counted(Scaled(), given)
    for count in (3, 4):
        x = rows(count)
        assert torch.equal(compiled(x), 2 * x)
        assert torch.equal(compiled(x, y=x), 2 * x)
        assert torch.equal(compiled(x, x), 2 * x)
    assert backend.graphs == 3
    girih.compile_module(Scaled(), shapes_spec=given)(rows(3))


def test_wrong_arguments():
    with pytest.raises(ValueError, match="dynamic and shapes_spec"):
        girih.compile(torch.sin, dynamic=True, shapes_spec={})
    with pytest.raises(TypeError, match="shapes_spec must be"):
        girih.compile(torch.sin, shapes_spec=3)
    compiled, _ = counted(
        lambda x: x + 1, {"x": spec.TensorSpec([spec.ShapeVar("n") * 2])}
    )
    with pytest.raises(girih.UnsupportedError, match="depends on n"):
        compiled(rows(4))


def test_it_is_a_decorator():
    @girih.compile(shapes_spec={"x": spec.TensorSpec([spec.ShapeVar()])})
    def function(x):
        return x.sin()

    torch.testing.assert_close(function(rows(3)), rows(3).sin())


def test_torch_captures_with_it():
    given = {"x": spec.TensorSpec([spec.ShapeVar("n", max=100), None])}
    torch.compiler.reset()
    compiled = torch.compile(
        lambda x: x.softmax(-1) + 1, backend="girih", shapes_spec=given, fullgraph=True
    )
    for n in (3, 5, 100):
        x = torch.randn(n, 4)
        torch.testing.assert_close(compiled(x), x.softmax(-1) + 1)
    assert len(girih.report(compiled).graphs) == 1


def test_an_error_in_the_middle_breaks_no_graph():
    given = {"y": spec.TensorSpec([4]), "n": spec.IntVar("n")}

    def function(x, y, n):
        z = x.sin()
        if y.shape[0] > 4:
            return z + y.sum()
        return z.sum(n)

    compiled, backend = counted(function, given)
    with pytest.raises(girih.UnsupportedError, match="it is 4, but 5 is given"):
        compiled(rows(3), rows(5), 3)
    assert not backend.graphs
    with pytest.raises(girih.UnsupportedError, match="right only for 2"):
        compiled(rows(2, 2, 2), rows(4), 2)


def test_what_follows_a_break_is_compiled():
    def function(x, n):
        y = x * n
        girih.graph_break()
        return y + x + n

    given = {"x": spec.TensorSpec([spec.ShapeVar("n")]), "n": spec.IntVar("n")}
    compiled, backend = counted(function, given)
    for size in range(2, 6):
        assert torch.equal(compiled(rows(size), size), function(rows(size), size))
    assert backend.graphs <= 4
