"""What ``girih.compile`` takes: every kind of callable."""

import asyncio
import functools
import inspect

import pytest
import torch

import girih

X = torch.arange(3.0)


class Graphs:
    """A backend that counts graphs."""

    def __init__(self):
        self.count = 0

    def __call__(self, gm, inputs):
        self.count += 1
        return gm.forward


class Scaler:
    def __init__(self, factor=3):
        self.factor = factor

    def __call__(self, x):
        return x * self.factor

    def method(self, x):
        return x + self.factor

    @staticmethod
    def static(x):
        return x - 1

    @classmethod
    def of_class(cls, x):
        return x + len(cls.__name__)


def plain(x):
    return x * 3


def factors():
    yield from (1, 2)


async def later(x):
    return x + 1


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        (plain, X * 3),
        (lambda x: x * 3, X * 3),
        (Scaler(), X * 3),
        (Scaler().method, X + 3),
        (Scaler.static, X - 1),
        (Scaler.of_class, X + 6),
        (functools.partial(torch.add, X), 2 * X),
        (functools.partial(plain), X * 3),
        (torch.sin, X.sin()),
        (torch.Tensor.cos, X.cos()),
        (torch.nn.Flatten(0), X),
        (girih.compile(plain), X * 3),
        (girih.disable(plain), X * 3),
    ],
    ids=range(13),
)
def test_callables(target, expected):
    for settings in ({}, {"fullgraph": True}):
        compiled = girih.compile(target, backend="eager", **settings)
        for _ in range(2):
            torch.testing.assert_close(compiled(X), expected)


def test_a_cache_stays_one():
    cached = functools.lru_cache(plain)
    compiled = girih.compile(cached, backend="eager")
    assert compiled(X) is compiled(X) is cached(X)


def test_a_builtin_without_tensors():
    assert girih.compile(len, backend="eager")(X) == 3


def test_a_compiled_method_is_a_method():
    scaler = Scaler()
    compiled = girih.compile(scaler.method, backend="eager")
    assert inspect.ismethod(compiled) and compiled.__self__ is scaler
    assert compiled.__name__ == "method"
    compiled(X)
    assert compiled.cache_statistics()["entries"] == 1
    assert str(girih.report(compiled)) == "girih has compiled nothing yet"


def test_decorators_of_methods():
    graphs = Graphs()

    class Tools:
        @girih.compile(backend=graphs)
        def plain(self, x):
            return x + 1

        @girih.compile(backend=graphs)
        @staticmethod
        def static(x):
            return x + 2

        @girih.compile(backend=graphs)
        @classmethod
        def of_class(cls, x):
            return x + len(cls.__name__)

        @staticmethod
        @girih.compile(backend=graphs)
        def inside(x):
            return x + 3

    tools = Tools()
    for call, added in ((tools.plain, 1), (tools.static, 2), (tools.inside, 3)):
        torch.testing.assert_close(call(X), X + added)
    torch.testing.assert_close(Tools.of_class(X), X + 5)
    assert graphs.count == 4


def test_a_class_with_call():
    graphs = Graphs()

    @girih.compile(backend=graphs)
    class Local(Scaler):
        pass

    assert isinstance(Local, type) and issubclass(Local, Scaler)
    local = Local(2)
    torch.testing.assert_close(local(X), X * 2)
    torch.testing.assert_close(Scaler(2)(X), X * 2)
    assert graphs.count == 1
    compiled = girih.compile(lambda x: local(x) + 1, fullgraph=True, backend="eager")
    torch.testing.assert_close(compiled(X), X * 2 + 1)


def test_a_class_of_modules():
    graphs = Graphs()

    @girih.compile(backend=graphs)
    class Net(torch.nn.Module):
        def forward(self, x):
            return x.sin()

    torch.testing.assert_close(Net()(X), X.sin())
    assert graphs.count == 1


def test_classes_that_can_not_be_compiled():
    class Empty:
        pass

    with pytest.raises(
        TypeError, match="objects of the class .*Empty have no __call__"
    ):
        girih.compile(Empty)
    with pytest.raises(TypeError, match="can't change the class partial"):
        girih.compile(functools.partial)


def test_async_functions_are_left_alone():
    assert girih.compile(later) is later
    assert asyncio.run(girih.compile(later)(X)) is not None
    with pytest.raises(girih.UnsupportedError, match="async function: later") as caught:
        girih.compile(later, fullgraph=True)
    assert caught.value.location.line == later.__code__.co_firstlineno


def test_generator_functions_are_left_alone():
    assert girih.compile(factors) is factors
    with pytest.raises(girih.UnsupportedError, match="generator function: factors"):
        girih.compile(factors, fullgraph=True)


def test_a_wrapper_of_a_compiled_function_has_its_own_cache():
    compiled = girih.compile(plain, backend="eager")
    compiled(X)

    @functools.wraps(compiled)
    def around(x):
        return compiled(x) + 1

    other = girih.compile(around, backend="eager")
    assert other.cache_statistics() == {"captures": 0, "entries": 0}
    torch.testing.assert_close(other(X), X * 3 + 1)


def test_what_torch_compiled_is_compiled_anew():
    def wrapper(x):  # marked as torch.compile() marks what it returns
        raise AssertionError("not called")

    wrapper._torchdynamo_orig_callable = plain
    wrapper._torchdynamo_wrapper_id = id(wrapper)
    compiled = girih.compile(wrapper, fullgraph=True, backend="eager")
    torch.testing.assert_close(compiled(X), X * 3)


@pytest.mark.parametrize("target", [3, "text", [plain]], ids=range(3))
def test_what_is_not_callable_is_refused(target):
    with pytest.raises(TypeError, match="expects a callable or a module"):
        girih.compile(target)


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        return gradient * 3


def test_what_capture_models_is_called():
    calls = {
        "apply": (Doubled.apply, ()),
        "checkpoint": (torch.utils.checkpoint.checkpoint, (torch.sin,)),
        "cond": (torch.cond, (torch.tensor(True), torch.sin, torch.cos)),
    }
    for name, (function, arguments) in calls.items():
        x = X.clone().requires_grad_()
        given = ([x],) if name == "cond" else (x,)
        options = {"use_reentrant": False} if name == "checkpoint" else {}
        results = [
            call(*arguments, *given, **options)
            for call in (function, girih.compile(function))
        ]
        torch.testing.assert_close(*results)
        torch.testing.assert_close(
            *(torch.autograd.grad(result.sum(), x)[0] for result in results)
        )
