"""Programs that talk to the compiler, by the names that torch gives to its own."""

import torch

import girih
from differential.program import compiles, program, rand


def helper(x):
    return x.sin() + 1


@torch.compiler.disable
def disabled(x):
    return helper(x) * 2


@torch.compiler.disable(recursive=False)
def disabled_itself(x):
    return helper(x) * 2


@torch.compiler.allow_in_graph
def allowed(x):
    return x.cos() * 2


@torch.compiler.assume_constant_result
def settings():
    return 3


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.linear = torch.nn.Linear(3, 3)

    @torch.compiler.disable
    def left_alone(self, x):
        return self.linear(x)

    def forward(self, x):
        return self.left_alone(x + 1) * 2


@program(rand(3)).graphs(2)
def break_of_torch(x):
    y = x + 1
    torch._dynamo.graph_break()
    return y * 2


@program(rand(3)).graphs(3)
def disabled_function(x):
    return disabled(x + 1) * 3


@program(rand(3)).graphs(3)
def disabled_function_but_not_its_callees(x):
    return disabled_itself(x + 1) * 3


@program(rand(3))
def disabled_inside(x):
    @torch.compiler.disable
    def inner(v):
        return v * 2

    return inner(x + 1) + torch.compiler.disable(helper)(x)


@program(Model(), rand(2, 3))
def disabled_method(net, x):
    return net(x)


@program(rand(3))
def function_of_the_graph(x):
    return allowed(x) + 1


@program(rand(3))
def constant_result(x):
    return x * settings()


@program(rand(3))
def branch_that_depends_on_the_compiler(x):
    if torch.compiler.is_compiling() or torch.compiler.is_dynamo_compiling():
        return x * 2
    return x + x


@program(rand(3))
def compiler_is_asked_around_a_break(x):
    y = x * 2 if torch.compiler.is_compiling() else x + x
    print("break")
    return y - 1 if torch.compiler.is_exporting() else y + 1


@compiles(rand(4))
def dimension_is_marked_dynamic(compile, x):
    f = compile(lambda v: v * v.shape[0])
    torch._dynamo.mark_dynamic(x, 0)
    return f(x), f(torch.ones(6)), f(torch.ones(9))


@compiles(rand(4))
def dimension_may_be_dynamic(compile, x):
    f = compile(lambda v: v.sum() * v.shape[0])
    torch._dynamo.maybe_mark_dynamic(x, 0)
    return f(x), f(torch.ones(1)), f(torch.ones(0)), f(torch.ones(7))


@compiles(rand(4))
def dimension_is_marked_static(compile, x):
    f = compile(lambda v: v * v.shape[0])
    results = []
    for n in (2, 3, 4):
        y = torch.ones(n)
        torch._dynamo.mark_static(y, 0)
        results.append(f(y))
    return results


@compiles(rand(3))
def stance_is_eager(compile, x):
    f = compile(helper)
    with torch.compiler.set_stance("force_eager"):
        first = f(x)
    return first, f(x)


@compiles(rand(3))
def stance_is_a_decorator(compile, x):
    f = compile(helper)

    @torch.compiler.set_stance("eager_on_recompile")
    def g(v):
        return f(v)

    return f(x), g(x), g(x.double())


@compiles(rand(3))
def compiled_function_is_disabled(compile, x):
    f = compile(helper)
    return torch.compiler.disable(f)(x), f(x)


@compiles(rand(3))
def everything_is_reset(compile, x):
    f = compile(helper)
    first = f(x)
    girih.reset()
    second = f(x)
    torch._dynamo.reset()
    return first, second, f(x)


@program(rand(3))
def configuration_is_read(x):
    is_on = torch._C._get_tracing_state() is None
    return x + 1 if is_on and not torch.jit.is_scripting() else x
