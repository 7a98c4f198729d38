"""Compiled functions and modules are copied and pickled as what they wrap."""

import copy
import doctest
import functools
import importlib
import inspect
import io
import pickle
import pydoc
import sys
import textwrap
import weakref
from multiprocessing.reduction import ForkingPickler

import pytest
import torch
from processes import run_python

import girih

PROGRAM = """
    import functools

    import torch

    import girih

    @girih.compile
    def decorated(x):
        '''Twice, and one.

        >>> decorated(torch.ones(1))
        tensor([3.])
        '''
        return x * 2 + 1

    def plain(x, shift: int = 1, *, scale=1):
        return (x.sin() + shift) * scale

    def hidden(x):
        return x - 1

    backend_calls = []

    def backend(gm, inputs):
        backend_calls.append(gm)
        return gm.forward

    made_before = girih.compile(hidden, dynamic=True)
    hidden = girih.compile(hidden, backend=backend)

    class Scaler:
        '''Multiplies.'''

        def __init__(self, factor):
            self.factor = factor

        def __call__(self, x, *, twice=False):
            return x * self.factor * (2 if twice else 1)

        @girih.compile
        def method(self, x):
            return x + self.factor

        @girih.compile
        @staticmethod
        def static(x):
            return x - 1

        @girih.compile
        @classmethod
        def of_class(cls, x):
            return x + len(cls.__name__)

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = torch.nn.Linear(3, 3)
            self.inner = girih.compile(torch.nn.Linear(3, 3, bias=False))
            self.act = girih.compile(plain)
            self.note = "a note"

        def forward(self, x):
            return self.act(self.inner(self.linear(x)))

    class Holder:
        def __init__(self):
            self.factor = 2
            self.run = girih.compile(self)

        def __call__(self, x):
            return x * self.factor

    def candidates():
        torch.manual_seed(0)
        return {
            "decorated": decorated,
            "wrapped": girih.compile(plain),
            "hidden by its name": made_before,
            "with a backend": hidden,
            "lambda in a partial": girih.compile(functools.partial(plain, shift=3)),
            "partial of compiled": functools.partial(decorated),
            "object": girih.compile(Scaler(4)),
            "method": Scaler(2).method,
            "static method": Scaler.static,
            "class method": Scaler.of_class,
            "call of an object": girih.compile(Scaler(5).__call__),
            "builtin": girih.compile(torch.sin),
            "function in C": girih.compile(torch.nn.functional.gelu),
            "module": girih.compile(Net()),
            "module that holds": Net(),
            "list": [decorated, {"f": decorated}][1]["f"],
            "object that holds itself": Holder(),
            "itself in an object": Holder().run,
        }
"""
NAMES = [
    line.split('"')[1]
    for line in PROGRAM.partition("return {")[2].splitlines()
    if line.strip().startswith('"')
]
X = torch.arange(3.0)


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    """A module that pickle finds by its name."""
    folder = tmp_path_factory.mktemp("programs")
    (folder / "girih_programs.py").write_text(textwrap.dedent(PROGRAM))
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(folder))
        yield importlib.import_module("girih_programs")
    del sys.modules["girih_programs"]


def pickled(value):
    return pickle.loads(pickle.dumps(value))


def sent(value):
    """As multiprocessing sends it."""
    return pickle.loads(ForkingPickler.dumps(value))


def saved(value):
    file = io.BytesIO()
    torch.save(value, file)
    file.seek(0)
    return torch.load(file, weights_only=False)


WAYS = {f.__name__: f for f in (copy.copy, copy.deepcopy, pickled, sent, saved)}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("way", WAYS)
def test_a_copy_does_the_same(programs, name, way):
    candidate = programs.candidates()[name]
    with torch.no_grad():
        expected = candidate(X)
        copied = WAYS[way](candidate)
        torch.testing.assert_close(copied(X), expected)
        torch.testing.assert_close(candidate(X), expected)
    assert type(copied) is type(candidate)


def test_in_another_process(programs, tmp_path):
    """One that starts anew, as of multiprocessing's "spawn"."""
    candidates = programs.candidates()
    with torch.no_grad():
        expected = {name: candidate(X) for name, candidate in candidates.items()}
    torch.save((candidates, expected), tmp_path / "file")
    run_python(
        """
        import sys
        import torch
        candidates, expected = torch.load(sys.argv[1], weights_only=False)
        import girih, girih_programs
        with torch.no_grad():
            for name, candidate in candidates.items():
                result = candidate(torch.arange(3.0))
                torch.testing.assert_close(result, expected[name], msg=name)
        assert candidates["decorated"] is girih_programs.decorated
        assert girih_programs.backend_calls
        for name in ("decorated", "wrapped", "object", "module"):
            (graph,) = girih.report(candidates[name]).graphs
            assert graph.fallback is None and graph.kernels, graph
        """,
        str(tmp_path / "file"),
        PYTHONPATH=str(programs.__file__.rpartition("/")[0]),
    )


@pytest.mark.parametrize("way", WAYS)
def test_functions_are_their_own_copies(programs, way):
    assert WAYS[way](programs.decorated) is programs.decorated
    assert WAYS[way](programs.Scaler.static) is programs.Scaler.static
    wrapped = girih.compile(programs.plain)
    if "copy" in way:
        assert WAYS[way](wrapped) is wrapped
        inner = girih.compile(lambda x: x + 1)
        assert WAYS[way]([inner])[0] is inner


def test_what_cannot_be_pickled_fails_as_the_function_does():
    def inner(x):
        return x

    messages = []
    for function in (inner, girih.compile(inner), girih.compile(lambda x: x)):
        with pytest.raises(AttributeError, match="Can't pickle local object") as caught:
            pickle.dumps(function)
        messages.append(str(caught.value))
    assert messages[0] == messages[1]


def test_settings_go_with_a_copy(programs):
    def calls():
        return len(programs.backend_calls)

    compiled = girih.compile(
        programs.Scaler(3), backend=programs.backend, fullgraph=True, dynamic=True
    )
    for way in WAYS.values():
        copied, before = way(compiled), calls()
        copied(X)
        copied(torch.arange(5.0))
        assert calls() == before + 1
        settings = copied.girih_compiler.settings
        assert settings.fullgraph and settings.dynamic


def test_a_copy_has_state_and_reports_of_its_own(programs):
    compiled = girih.compile(programs.Scaler(3))
    compiled.note = ["a note"]
    compiled(X)
    copied = copy.deepcopy(compiled)
    assert copied.note == ["a note"] and copied.note is not compiled.note
    assert not girih.report(copied).graphs
    copied.girih_function.factor = 7
    torch.testing.assert_close(copied(X), X * 7)
    torch.testing.assert_close(compiled(X), X * 3)
    assert len(girih.report(copied).graphs) == len(girih.report(compiled).graphs) == 1


def test_a_shallow_copy_of_a_module_shares_parameters(programs):
    net = girih.compile(programs.Net())
    copied = copy.copy(net)
    copied.note = "another"
    assert net.note == "a note" and copied.linear is net.linear
    assert isinstance(copied, programs.Net)


@pytest.mark.parametrize("way", ["deepcopy", "pickled", "saved"])
def test_a_copy_of_a_module_is_trained_alone(programs, way):
    net = girih.compile(programs.Net())
    expected = net(X).detach()
    copied = WAYS[way](net)
    assert list(copied.state_dict()) == list(net.state_dict())
    optimizer = torch.optim.SGD(copied.parameters(), lr=0.1)
    copied(X).sum().backward()
    optimizer.step()
    assert all(p.grad is None for p in net.parameters())
    assert not torch.allclose(copied(X), expected)
    torch.testing.assert_close(net(X), expected)
    plain = programs.Net()
    plain.load_state_dict(copied.state_dict())
    torch.testing.assert_close(plain(X), copied(X))


@pytest.mark.parametrize("way", ["deepcopy", "pickled"])
def test_what_was_one_object_stays_one(programs, way):
    module = programs.Net()
    first, second = WAYS[way]([module, girih.compile(module)])
    assert second.linear is first.linear and second.girih_original is first
    holder = WAYS[way](programs.Holder())
    assert holder.run.girih_function is holder
    run = WAYS[way](programs.Holder().run)
    assert run.girih_function.run is run or way == "pickled"


def test_averaged_models(programs):
    averaged = torch.optim.swa_utils.AveragedModel(programs.Net())
    averaged.update_parameters(programs.Net())
    assert averaged(X).shape == (3,)


def test_data_loaders(programs):
    items = [torch.full((2,), float(i)) for i in range(4)]
    loader = torch.utils.data.DataLoader(
        items, 2, num_workers=1, collate_fn=Collate(programs.decorated)
    )
    for batch, expected in zip(loader, ((0, 1), (2, 3)), strict=True):
        assert batch[:, 0].tolist() == [2 * i + 1 for i in expected]


class Collate:
    def __init__(self, function):
        self.function = function

    def __call__(self, items):
        return self.function(torch.stack(items))


@pytest.mark.parametrize("name", ["plain", "object", "partial", "builtin", "method"])
def test_compiled_functions_look_like_what_they_wrap(programs, name):
    target = {
        "plain": programs.plain,
        "object": programs.Scaler(2),
        "partial": functools.partial(programs.plain, shift=2),
        "builtin": torch.sin,
        "method": programs.Scaler(2).__call__,
    }[name]
    compiled = girih.compile(target)
    questions = (
        lambda f: str(inspect.signature(f)),
        lambda f: f.__name__,
        lambda f: f.__qualname__,
        lambda f: f.__module__,
        lambda f: f.__doc__,
        lambda f: f.__defaults__,
        lambda f: f.__kwdefaults__,
        lambda f: f.__code__,
        lambda f: f.__annotations__,
        lambda f: f.__self__ if name == "builtin" else None,
        lambda f: f.factor,
        lambda f: f.keywords,
        lambda f: f.there_is_no_such_attribute,
        lambda f: inspect.getsource(f),
        lambda f: callable(f),
        lambda f: bool(f),
    )
    for question in questions:
        assert answer(question, compiled) == answer(question, target)


def answer(question, function):
    try:
        return question(function)
    except (AttributeError, TypeError, ValueError) as error:
        return type(error)


def test_attributes_of_an_object_are_its_own(programs):
    scaler = programs.Scaler(2)
    compiled = girih.compile(scaler)
    torch.testing.assert_close(compiled(X), X * 2)
    scaler.factor = 3
    assert compiled.factor == 3
    torch.testing.assert_close(compiled(X), X * 3)


def test_documentation_and_doctests(programs):
    text = pydoc.render_doc(programs.decorated, renderer=pydoc.plaintext)
    assert "decorated(x)\n    Twice, and one." in text
    result = doctest.testmod(programs)
    assert result == doctest.TestResults(failed=0, attempted=1)


def test_other_uses_of_functions(programs):
    decorated, twin = programs.decorated, girih.compile(programs.decorated)
    assert weakref.ref(decorated)() is decorated
    assert weakref.WeakKeyDictionary({decorated: 1})[decorated] == 1
    assert decorated == decorated and decorated != twin
    assert {decorated: 1, twin: 2}[decorated] == 1
    wrapper = functools.wraps(decorated)(lambda x: decorated(x))
    assert wrapper.__name__ == "decorated" and wrapper.__doc__ == decorated.__doc__
    torch.testing.assert_close(wrapper(X), decorated(X))
    scaler = programs.Scaler(2)
    assert scaler.method == scaler.method
    assert weakref.WeakMethod(scaler.method)()(X)[0] == 2

    class Derived(programs.Scaler):
        def method(self, x):
            return super().method(x) * 10

    torch.testing.assert_close(Derived(2).method(X), (X + 2) * 10)
    torch.testing.assert_close(Derived.of_class(X), X + len("Derived"))


def test_reset_forgets_copies_too(programs):
    copied = copy.deepcopy(girih.compile(programs.Scaler(3)))
    copied(X)
    girih.reset()
    assert copied.cache_statistics()["entries"] == 0


@pytest.mark.parametrize(
    "copied", [copy.deepcopy, lambda held: pickle.loads(pickle.dumps(held))]
)
def test_a_method_that_an_object_holds_stays_compiled(copied):
    layer = torch.nn.Linear(4, 4)
    layer.forward = girih.compile(layer.forward)
    made = copied(layer)
    assert made.forward.__self__ is made
    assert type(made.forward.__func__) is type(layer.forward.__func__)
    torch.testing.assert_close(made(torch.ones(2, 4)), layer(torch.ones(2, 4)))
    plain = copied(torch.nn.Linear(4, 4).forward)  # other methods as ever
    assert type(plain.__func__) is type(torch.nn.Linear.forward)
