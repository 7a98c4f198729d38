"""What girih's own marks do, beyond what torch's do (see ``test_compiler_api``)."""

import copy
import pickle

import pytest
import torch
from processes import run_python

import girih
from girih import marks, stance

X = torch.arange(3.0)


class Graphs:
    """A backend that counts graphs."""

    def __init__(self):
        self.count = 0

    def __call__(self, gm, inputs):
        self.count += 1
        return gm.forward


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(3, 3)

    def forward(self, x):
        return self.linear(x).relu()


def plus_one(x):
    """Adds one."""
    return x + 1


@pytest.mark.parametrize("recursive", [True, False])
def test_a_disabled_function_looks_like_the_function(recursive):
    disabled = girih.disable(plus_one, recursive, reason="slow")
    assert (disabled.__name__, disabled.__doc__) == ("plus_one", "Adds one.")
    assert disabled.__wrapped__ is plus_one
    assert marks.disabled(disabled) == marks.Disabled(recursive, "slow")
    assert marks.disabled(plus_one) is None
    torch.testing.assert_close(disabled(X), X + 1)


def test_fullgraph_names_function_and_reason():
    disabled = girih.disable(plus_one, reason="it prints")
    compiled = girih.compile(lambda x: disabled(x), fullgraph=True, backend="eager")
    with pytest.raises(girih.UnsupportedError) as caught:
        compiled(X)
    assert caught.value.kind == "function that must not be compiled"
    for words in ("plus_one", "Its reason: it prints", "hint: Remove the mark"):
        assert words in str(caught.value)


def test_static_and_class_methods():
    class Tools:
        @girih.disable
        @staticmethod
        def double(x):
            return x * 2

        @girih.disable
        @classmethod
        def name(cls):
            return cls.__name__

    assert (Tools.name(), Tools().double(3)) == ("Tools", 6)
    graphs = Graphs()
    compiled = girih.compile(lambda x: Tools.double(x + 1) - 1, backend=graphs)
    torch.testing.assert_close(compiled(X), (X + 1) * 2 - 1)
    assert graphs.count == 2


def test_a_module():
    net = Net()
    disabled = girih.disable(net)
    assert isinstance(disabled, Net) and list(disabled.state_dict()) == list(
        net.state_dict()
    )
    graphs = Graphs()
    compiled = girih.compile(lambda x: disabled(x * 2) + 1, backend=graphs)
    torch.testing.assert_close(compiled(X), net(X * 2) + 1)
    assert graphs.count == 2
    assert marks.innermost(disabled) is net
    for twin in (copy.deepcopy(disabled), pickle.loads(pickle.dumps(disabled))):
        torch.testing.assert_close(twin(X), net(X))


def test_a_compiled_module_is_disabled():
    graphs = Graphs()
    net = Net()
    disabled = girih.disable(girih.compile(net, backend=graphs))
    torch.testing.assert_close(disabled(X), net(X))
    assert graphs.count == 0


@pytest.mark.parametrize("fn", [3, "name", [plus_one]], ids=range(3))
def test_what_is_not_callable_is_refused(fn):
    with pytest.raises(TypeError, match="expects a callable"):
        girih.disable(fn)


def test_other_bad_arguments():
    with pytest.raises(TypeError, match="reason must be a str, got 3"):
        girih.disable(plus_one, reason=3)
    with pytest.raises(TypeError, match="can't change the class int"):
        girih.disable(int)
    with pytest.raises(TypeError, match="allow_in_graph expects a callable, got int"):
        girih.allow_in_graph(3)
    with pytest.raises(TypeError, match="expects a Python function, got builtin"):
        girih.assume_constant_result(len)
    with pytest.raises(TypeError, match="expects a function, got int"):
        girih.substitute_in_graph(3)
    with pytest.raises(TypeError, match="must be a Python function, got builtin"):
        girih.substitute_in_graph(len)(len)


def test_below_a_disabled_function_nothing_is_captured():
    graphs = Graphs()

    def inner(x):
        return x.sin()

    @girih.disable
    def outer(x):
        return inner(x) + inner(x)

    def program(x):
        print(end="")  # runs as it was
        return outer(x)

    compiled = girih.compile(program, backend=graphs)
    torch.testing.assert_close(compiled(X), 2 * X.sin())
    torch.testing.assert_close(compiled(X), 2 * X.sin())
    assert graphs.count == 0


def test_an_allowed_function_is_released():
    import gc

    def operation(x):
        return x + 1

    girih.allow_in_graph(operation)
    assert marks.is_allowed_in_graph(operation)
    number = id(operation)
    del operation
    gc.collect()
    assert number not in marks._allowed


def test_a_result_that_is_a_tensor_is_held():
    calls = []

    @girih.assume_constant_result
    def table():
        calls.append(1)
        return torch.full((3,), 7.0)

    compiled = girih.compile(lambda x: x + table(), fullgraph=True, backend="eager")
    for _ in range(2):
        torch.testing.assert_close(compiled(X), X + 7)
    assert calls == [1]


def test_a_computed_tensor_is_no_argument_of_a_constant_function():
    @girih.assume_constant_result
    def total(x):
        return float(x.sum())

    def program(x):
        return x * total(x + 1)

    with pytest.raises(girih.UnsupportedError) as caught:
        girih.compile(program, fullgraph=True, backend="eager")(X)
    assert caught.value.kind == "argument of a function with a constant result"
    compiled = girih.compile(program, backend="eager")
    torch.testing.assert_close(compiled(X * 2), program(X * 2))


def test_a_method_with_a_constant_result():
    class Config:
        width = 3

        @girih.assume_constant_result
        def scale(self, factor):
            return self.width * factor

    config = Config()
    compiled = girih.compile(
        lambda x: x * config.scale(2), fullgraph=True, backend="eager"
    )
    torch.testing.assert_close(compiled(X), X * 6)


def test_a_replacement_is_registered_once():
    import _operator

    def count_of(a, b, /):
        return sum(1 for item in a if item == b) + 100

    wrapper = girih.substitute_in_graph(_operator.countOf)(count_of)
    try:
        assert wrapper([1, 1], 1) == 2
        compiled = girih.compile(
            lambda x: x * _operator.countOf([1, 1, 2], 1),
            fullgraph=True,
            backend="eager",
        )
        torch.testing.assert_close(compiled(X), X * 102)
        with pytest.raises(ValueError, match="is replaced by .*count_of.* already"):
            girih.substitute_in_graph(_operator.countOf)(count_of)
    finally:
        for key in (_operator.countOf, wrapper):
            del marks._substitutes[key]


def test_a_pure_replacement_is_folded():
    import _operator

    calls = []

    def index_of(a, b, /):
        calls.append(1)
        return -1

    wrapper = girih.substitute_in_graph(
        _operator.indexOf, can_constant_fold_through=True
    )(index_of)
    try:
        compiled = girih.compile(
            lambda x: x * _operator.indexOf((5, 6), 6), fullgraph=True, backend="eager"
        )
        torch.testing.assert_close(compiled(X), X)
        assert calls == []
    finally:
        for key in (_operator.indexOf, wrapper):
            del marks._substitutes[key]


def test_mark_static_inside_of_compiled_code():
    def program(x):
        girih.mark_static(x, 0)
        return x.sin()

    graphs = Graphs()
    compiled = girih.compile(program, dynamic=True, fullgraph=True, backend=graphs)
    compiled(torch.ones(4)), compiled(torch.ones(5)), compiled(torch.ones(4))
    assert graphs.count == 2


def stance_of_a_block(set_stance):
    def program(x, inner):
        with set_stance("force_eager"):
            return inner(x + 1) * 2

    return program


def stance_until_the_next(set_stance):
    def program(x, inner):
        set_stance("force_eager")
        y = inner(x + 1)
        set_stance("default")
        return y * 2

    return program


def stance_of_a_function(set_stance):
    @set_stance("force_eager")
    def eager(inner, y):
        return inner(y)

    return lambda x, inner: eager(inner, x + 1) * 2


def stance_of_a_function_made_inside(set_stance):
    def program(x, inner):
        eager = set_stance("force_eager")(lambda y: inner(y))
        return eager(x + 1) * 2

    return program


def stance_made_before(set_stance):
    made = set_stance("force_eager")
    set_stance("default")

    def program(x, inner):
        with made:
            y = inner(x + 1)
        set_stance("default")
        return y * 2

    return program


STANCES_INSIDE = (
    stance_of_a_block,
    stance_until_the_next,
    stance_of_a_function,
    stance_of_a_function_made_inside,
    stance_made_before,
)


@pytest.fixture
def default_stance():
    yield
    torch.compiler.set_stance("default")


@pytest.mark.parametrize("set_stance", [girih.set_stance, torch.compiler.set_stance])
@pytest.mark.parametrize("make", STANCES_INSIDE)
def test_a_stance_inside_of_compiled_code_counts(make, set_stance, default_stance):
    program = make(set_stance)
    graphs, others = Graphs(), Graphs()
    inner = girih.compile(lambda y: y.sin(), backend=others)
    compiled = girih.compile(program, backend=graphs)
    for _ in range(2):
        torch.testing.assert_close(compiled(X, inner), (X + 1).sin() * 2)
        assert stance.current() == "default"
    assert others.count == 0
    inner(X), compiled(X, inner)
    assert others.count == 1
    whole = girih.compile(program, fullgraph=True, backend="eager")
    with pytest.raises(girih.UnsupportedError, match="must not be traced: "):
        whole(X, inner)


def compiles_then_resets(x, reset):
    y = x + 1
    reset()
    return y * 2


RESETS = {
    "girih": girih.reset,
    "torch": torch.compiler.reset,
    "dynamo": lambda: torch._dynamo.reset(),
}


@pytest.mark.parametrize("reset", RESETS.values(), ids=RESETS)
def test_a_reset_inside_of_compiled_code_breaks_the_graph(reset):
    whole = girih.compile(compiles_then_resets, fullgraph=True, backend="eager")
    with pytest.raises(girih.UnsupportedError, match=r"reset\(\) of the compiler"):
        whole(X, reset)
    graphs = Graphs()
    compiled = girih.compile(compiles_then_resets, backend=graphs)
    torch.testing.assert_close(compiled(X, reset), (X + 1) * 2)
    once = graphs.count
    compiled(X, reset)
    assert graphs.count == 2 * once


def test_names_are_there_while_tracing_where_girih_came_before_torch():
    run_python(
        """
        import girih
        import torch

        def program(x):
            girih.mark_static(x, 0)
            return x.sin()

        compiled = girih.compile(program, fullgraph=True, backend="eager")
        torch.testing.assert_close(compiled(torch.ones(3)), torch.ones(3).sin())
        """
    )
