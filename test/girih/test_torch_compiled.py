"""What ``torch.compile`` returned, given to girih, and the other way round."""

from processes import run_python

# Each kind of callable over a function that one compiler has compiled. The process ends
# by itself where a call of it does not: such a loop is in C, where no signal is heard.
_PROGRAM = """
    import faulthandler, functools, sys, warnings

    import torch

    import girih

    faulthandler.dump_traceback_later(200, exit=True)
    warnings.simplefilter("ignore")
    backend, outermost = sys.argv[1:]
    inner, outer = torch.compile, girih.compile
    if outermost == "torch":
        inner, outer = outer, inner
    inner = functools.partial(inner, backend=backend)


    class Base:
        one = 1

        @inner
        def method(self, x):
            return x.sin() + self.one

        @classmethod
        @inner
        def of_class(cls, x):
            return x.sin() + cls.one

        @staticmethod
        @inner
        def static(x):
            return x.sin() + 1

        part = functools.partialmethod(method)


    class Derived(Base):
        def method(self, x):
            return super().method(x)


    class Called:
        @inner
        def __call__(self, x):
            return x.sin() + 1


    class Calling:
        held = Base().method

        def __call__(self, x):
            return self.held(x)


    class Net(torch.nn.Module):
        @inner
        def forward(self, x):
            return x.sin() + 1


    targets = {
        "bound method": Base().method,
        "method of a class, through the class": Base.of_class,
        "method of a class, through an object": Base().of_class,
        "static method": Base.static,
        "partial method": Base().part,
        "method that calls the base's": Derived().method,
        "function": functools.partial(Base.method, Base()),
        "partial": functools.partial(Base().method),
        "partial of a partial": functools.partial(functools.partial(Base.static)),
        "partial of an object": functools.partial(Called()),
        "object": Called(),
        "method of call": Called().__call__,
        "object that calls": Calling(),
        "forward": Net().forward,
        "function that calls a method": lambda x: Base().method(x),
    }
    if outermost == "girih":  # torch.compile refuses this one
        targets["module"] = Net()
    x = torch.ones(3)
    for name, target in targets.items():
        print(name, flush=True)
        compiled = outer(target, backend=backend)
        for _ in range(2):
            torch.testing.assert_close(compiled(x), x.sin() + 1)
    print("all")
"""


def test_girih_over_torch():
    for backend in ("eager", "girih"):
        assert run_python(_PROGRAM, backend, "girih").endswith("all\n")


def test_torch_over_girih():
    for backend in ("eager", "girih"):
        assert run_python(_PROGRAM, backend, "torch").endswith("all\n")
