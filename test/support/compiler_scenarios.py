"""Programs that talk to the compiler, written once for torch's names and for girih's.

Each takes ``api`` (``torch.compiler`` or ``girih``, with the names of ``torch._dynamo``
where torch has them only there) and ``compile``; what it returns is compared.
"""

from __future__ import annotations

import functools
import inspect
import types

import torch
import torch._dynamo

X = torch.arange(3.0)


def disabled_function(api, compile):
    """A disabled function breaks the graph of its caller; nothing in it is captured."""

    def inner(x):
        return x.tan()

    @api.disable
    def left_alone(x):
        return inner(x.cos())

    return compile(lambda x: left_alone(x * 3) * 2)(X)


def disabled_with_arguments(api, compile):
    """The decorator takes arguments."""

    @api.disable(reason="because")
    def left_alone(x):
        return x.cos()

    return compile(lambda x: left_alone(x * 3) * 2)(X)


def disabled_frame_only(api, compile):
    """recursive=False: what the function calls is captured."""

    def inner(x):
        return x.tan()

    @api.disable(recursive=False)
    def left_alone(x):
        return inner(x.cos())

    return compile(lambda x: left_alone(x * 3) * 2)(X)


def disabled_method(api, compile):
    """A method is disabled for all instances."""

    class Scaler:
        factor = 3

        @api.disable
        def scale(self, x):
            return x * self.factor

    return compile(lambda x: Scaler().scale(x + 1) - 1)(X)


def disabled_class(api, compile):
    """Of a class, making and calling instances is disabled; other methods are not."""

    @api.disable
    class Scaler:
        def __init__(self):
            self.factor = 3

        def __call__(self, x):
            return x * self.factor

        def shift(self, x):
            return x.sin() + self.factor

    scaler = Scaler()
    return compile(lambda x: scaler.shift(scaler(x + 1)))(X)


def compiled_around_disabled(api, compile):
    """Compiling a disabled function compiles it."""
    return compile(api.disable(lambda x: x.sin() + 1))(X)


def disabled_around_compiled(api, compile):
    """Disabling a compiled function runs it as it was."""
    return api.disable(compile(lambda x: x.sin() + 1))(X)


def compiled_called_by_disabled(api, compile):
    """A disabled function may call what was compiled explicitly."""
    compiled = compile(lambda x: x.sin() + 1)
    return api.disable(lambda x: compiled(x) * 2)(X)


def mark_is_not_inherited_by_wraps(api, compile):
    """functools.wraps copies the mark, which is not the wrapper's."""
    disabled = api.disable(lambda x: x.cos())

    @functools.wraps(disabled)
    def around(x):
        return x.sin()

    return compile(lambda x: around(x) * 2)(X)


def break_is_asked_for(api, compile):
    """graph_break() makes two graphs of one."""

    def program(x):
        y = x.sin()
        api.graph_break()
        return y.cos()

    return compile(program)(X)


def break_in_a_callee(api, compile):
    """The same in a function that is called."""

    def inner(x):
        api.graph_break()
        return x.exp()

    return compile(lambda x: inner(x.sin()) + 1)(X)


def break_is_nothing_in_plain_python(api, compile):
    """Outside of compiled code graph_break() does nothing."""
    return api.graph_break()


def asks_whether_it_compiles(api, compile):
    """is_compiling() is true in captured code only."""
    compiled = compile(lambda x: x.sin() if api.is_compiling() else x.cos())
    return [compiled(X), api.is_compiling()]


def operation_of_the_program(api, compile):
    """allow_in_graph: one node, whatever is inside."""

    def operation(x):
        for _ in range(3):
            x = x.sin()
        return x

    api.allow_in_graph(operation)
    return compile(lambda x: operation(x * 2) + 1)(X)


def operations_of_the_program(api, compile):
    """allow_in_graph takes lists, and returns them."""

    def first(x):
        return x.sin().cos()

    def second(x):
        return x.cos().sin()

    allowed = api.allow_in_graph([first, second])
    assert allowed == [first, second]
    return compile(lambda x: first(x) + second(x))(X)


def constant_result(api, compile):
    """assume_constant_result: called once, when it is captured."""
    calls = []

    @api.assume_constant_result
    def factor(n):
        calls.append(n)
        return n * 2 + len(calls)

    compiled = compile(lambda x: x * factor(3))
    return [compiled(X), compiled(X), calls]


def constant_result_of_an_input(api, compile):
    """The value of an input at the time of the capture is taken."""

    @api.assume_constant_result
    def total(x):
        return float(x.sum())

    compiled = compile(lambda x: x * total(x))
    return [compiled(X), compiled(X * 2)]


def stance_force_eager(api, compile):
    """Nothing compiled is used."""
    compiled = compile(lambda x: x.sin() + 1)
    with api.set_stance("force_eager"):
        first = compiled(X)
    return [first, compiled(X)]


def stance_eager_on_recompile(api, compile):
    """What fits is used, the rest runs as it was."""
    compiled = compile(lambda x: x.sin() + 1)
    with api.set_stance("eager_on_recompile"):
        first = compiled(X)
    second = compiled(X)
    with api.set_stance("eager_on_recompile"):
        third = compiled(X.double())
    return [first, second, third]


def stance_fail_on_recompile(api, compile):
    """What does not fit is an error."""
    compiled = compile(lambda x: x.sin() + 1)
    compiled(X)
    with api.set_stance("fail_on_recompile"):
        fitting = compiled(X)
        try:
            compiled(X.double())
        except RuntimeError as error:
            return [fitting, "recompile" in str(error).lower()]
    return "no error"


def stance_eager_then_compile(api, compile):
    """The first call runs as it was; from both calls it is known what varies."""
    compiled = compile(lambda x, more: x.sin() + more["n"])
    with api.set_stance("eager_then_compile"):
        return [compiled(torch.ones(n), {"n": torch.ones(n)}) for n in (3, 4, 5, 6)]


def stance_as_a_decorator(api, compile):
    """The stance holds in calls of the function only."""
    compiled = compile(lambda x: x.sin() + 1)

    @api.set_stance("force_eager")
    def program():
        return compiled(X)

    first = program()
    return [first, compiled(X), program()]


def stance_as_a_function(api, compile):
    """The stance holds until the next call."""
    compiled = compile(lambda x: x.sin() + 1)
    api.set_stance("force_eager")
    first = compiled(X)
    api.set_stance("default")
    return [first, compiled(X)]


def unknown_stance(api, compile):
    """An unknown name is an error, now or at the next call."""
    try:
        with api.set_stance("fast"):
            compile(lambda x: x + 1)(X)
    except (RuntimeError, ValueError):
        return "error"
    return "no error"


def dim_is_marked_dynamic(api, compile):
    """A marked dim is not compiled anew for each size."""
    compiled = compile(lambda x: x.sin() + 1)
    for size in (4, 5, 6):
        x = torch.ones(size)
        api.mark_dynamic(x, 0)
        compiled(x)
    return "done"


def dim_may_be_dynamic(api, compile):
    """The same for a wish."""
    compiled = compile(lambda x: x.sin() + 1)
    for size in (4, 5, 6):
        x = torch.ones(size)
        api.maybe_mark_dynamic(x, 0)
        compiled(x)
    return "done"


def dim_is_marked_static(api, compile):
    """A dim that is marked so is compiled for each size."""
    compiled = compile(lambda x: x.sin() + 1)
    for size in (4, 5, 6):
        x = torch.ones(size)
        api.mark_static(x, 0)
        compiled(x)
    return "done"


def replaced_function(api, compile):
    """substitute_in_graph: the replacement is captured, the original called."""
    import _operator

    @api.substitute_in_graph(_operator.length_hint)
    def length_hint(obj, default=0, /):
        return len(obj) + 100

    return [
        compile(lambda x: x * _operator.length_hint([1, 2]))(X),
        compile(lambda x: x * length_hint([1, 2]))(X),
        length_hint([1, 2]),
    ]


def replacement_with_other_parameters(api, compile):
    """Its parameters have to be the original's."""
    import _operator

    try:
        api.substitute_in_graph(_operator.indexOf)(lambda a: 0)
    except TypeError:
        return "error"
    return "no error"


def region_is_nested(api, compile):
    """torch.compiler.nested_compile_region changes no result."""
    region = torch.compiler.nested_compile_region(lambda x: x.sin() * 2)
    return compile(lambda x: region(x) + region(x + 1))(X)


class _Graphs:
    """A backend that notes the operations of each graph and runs it eagerly."""

    def __init__(self):
        self.operations = []

    def __call__(self, gm, inputs):
        names = [n.name for n in gm.graph.nodes if n.op.startswith("call_")]
        self.operations.append(len(names))
        return gm.forward


def _plain(value):
    if isinstance(value, torch.Tensor):
        return [round(number, 4) for number in value.double().flatten().tolist()]
    return [_plain(item) for item in value] if isinstance(value, list) else value


def observe_all(api, compile) -> dict[str, dict]:
    """The result of each scenario, and the operations of the graphs that it made."""
    observed = {}
    for name, scenario in SCENARIOS.items():
        torch._dynamo.reset()
        graphs = _Graphs()
        with torch.no_grad():
            result = scenario(api, functools.partial(compile, backend=graphs))
        observed[name] = {"result": _plain(result), "graphs": graphs.operations}
    return observed


def torch_names():
    """The names of ``torch.compiler`` and, where it lacks them, ``torch._dynamo``."""
    names = dict(vars(torch.compiler))
    for name in ("graph_break", "mark_dynamic", "maybe_mark_dynamic", "mark_static"):
        names[name] = getattr(torch._dynamo, name)
    return types.SimpleNamespace(**names)


_OWN = ("observe_all", "torch_names")

SCENARIOS = {
    name: function
    for name, function in list(globals().items())
    if inspect.isfunction(function)
    and function.__module__ == __name__
    and not name.startswith("_")
    and name not in _OWN
}
