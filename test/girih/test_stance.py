"""The stance; what it means in single calls is in ``test_compiler_api``."""

from threading import Thread

import pytest
import torch
from processes import COMPILERS, run_after_torch, run_python

import girih
from girih import stance

X = torch.arange(3.0)


@pytest.fixture(autouse=True)
def _default_afterwards():
    yield
    assert stance.current() == "default"


def test_unknown_names_list_the_known_ones():
    with pytest.raises(ValueError, match="'force_eagr'.*did you mean 'force_eager'"):
        girih.set_stance("force_eagr")


def test_blocks_nest():
    with girih.set_stance("force_eager"):
        with girih.set_stance("eager_on_recompile"):
            assert stance.current() == "eager_on_recompile"
        assert stance.current() == "force_eager"


def test_a_block_that_raises_restores_it():
    with pytest.raises(KeyError), girih.set_stance("force_eager"):
        raise KeyError


def test_one_object_serves_several_blocks():
    eager = girih.set_stance("force_eager")
    with eager:
        pass
    assert stance.current() == "default"
    with eager:
        assert stance.current() == "force_eager"


def test_the_stance_holds_in_all_threads():
    found = []
    with girih.set_stance("eager_on_recompile"):
        thread = Thread(target=lambda: found.append(stance.current()))
        thread.start()
        thread.join()
    assert found == ["eager_on_recompile"]


def test_the_error_names_the_guard_and_the_value():
    compiled = girih.compile(lambda x, name: x if name == "a" else -x, backend="eager")
    compiled(X, "a")
    with girih.set_stance("fail_on_recompile"):
        compiled(X, "a")
        with pytest.raises(girih.RecompileError) as caught:
            compiled(X, "b")
    assert "L['name'] == 'a', but it is 'b'" in str(caught.value)
    assert isinstance(caught.value, RuntimeError)


def test_what_was_never_compiled_fails_too():
    compiled = girih.compile(lambda x: x + 1, backend="eager")
    with girih.set_stance("fail_on_recompile"):
        with pytest.raises(girih.RecompileError, match="has not compiled it yet"):
            compiled(X)


def test_torchs_stance_counts_whenever_its_compiler_is_loaded():
    run_after_torch(
        """
        import sys
        import torch, girih
        from girih import stance

        graphs = []
        def backend(gm, inputs):
            graphs.append(gm)
            return gm.forward

        compiled = girih.compile(lambda x: x + 1, backend=backend)
        assert "torch._dynamo" not in sys.modules
        with torch.compiler.set_stance("force_eager"):
            assert stance.current() == "force_eager"
            compiled(torch.ones(3))
        assert stance.current() == "default" and not graphs
        compiled(torch.ones(3))
        torch._dynamo.set_stance("eager_on_recompile")
        assert stance.current() == "eager_on_recompile"
        compiled(torch.ones(3, dtype=torch.int32))
        assert len(graphs) == 1
        torch.compiler.set_stance("default")
        assert stance.current() == "default"
        """
    )


def test_torchs_reset_resets_girih():
    run_after_torch(
        """
        import torch, girih

        graphs = []
        def backend(gm, inputs):
            graphs.append(gm)
            return gm.forward

        compiled = girih.compile(lambda x: x + 1, backend=backend)
        for _ in range(2):
            compiled(torch.ones(3))
        torch.compiler.reset()
        compiled(torch.ones(3))
        assert len(graphs) == 2
        assert compiled.cache_statistics()["entries"] == 1
        """,
        loaded=COMPILERS,
    )


def test_a_stance_from_before_girih_counts():
    run_after_torch(
        """
        import torch
        torch.compiler.set_stance("force_eager")
        import girih

        graphs = []
        compiled = girih.compile(
            lambda x: x + 1, backend=lambda gm, inputs: graphs.append(gm) or gm.forward
        )
        compiled(torch.ones(3))
        assert not graphs
        torch.compiler.set_stance("default")
        compiled(torch.ones(3))
        assert len(graphs) == 1
        """
    )


def test_girih_may_be_imported_before_torch():
    run_python(
        """
        import girih, torch

        graphs = []
        compiled = girih.compile(
            lambda x: x + 1, backend=lambda gm, inputs: graphs.append(gm) or gm.forward
        )
        with torch.compiler.set_stance("force_eager"):
            compiled(torch.ones(3))
        assert not graphs
        compiled(torch.ones(3))
        assert len(graphs) == 1
        """
    )


@pytest.mark.parametrize(
    ("setter", "arguments"),
    [
        ("girih.set_stance", "skip_guard_eval_unsafe=True"),
        ("torch.compiler.set_stance", "skip_guard_eval_unsafe=True"),
    ],
)
def test_all_guards_are_checked_and_a_warning_says_so_once(setter, arguments):
    run_after_torch(
        f"""
        import warnings
        import torch, girih

        compiled = girih.compile(lambda x: x + 1)
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always", girih.SwitchWarning)
            for _ in range(2):
                with {setter}("default", {arguments}):
                    compiled(torch.ones(3))
                    assert torch.equal(compiled(torch.zeros(3)), torch.ones(3))
                    twos = torch.ones(3, dtype=torch.int64)
                    assert compiled(twos).dtype is torch.int64
        told = [w for w in told if issubclass(w.category, girih.SwitchWarning)]
        (warning,) = told
        name = "{arguments}".partition("=")[0]
        assert name in str(warning.message) and warning.filename == "<string>"
        assert girih.report(compiled).kernels == 2
        """,
        loaded=COMPILERS,
    )


def test_a_backend_goes_with_the_default_alone():
    with pytest.raises(RuntimeError, match="got the stance 'force_eager'"):
        girih.set_stance("force_eager", force_backend="eager")


# A backend that is forced -------------------------------------------------------------


class Counting:
    """A backend that counts its graphs, and the calls of what it made of them."""

    def __init__(self):
        self.graphs = self.calls = 0

    def __call__(self, gm, inputs):
        self.graphs += 1

        def run(*arguments):
            self.calls += 1
            return gm.forward(*arguments)

        return run


def test_a_forced_backend_compiles_beside_the_own_one():
    own, other = Counting(), Counting()
    compiled = girih.compile(lambda x: x + 1, backend=own)
    for _ in range(2):
        assert torch.equal(compiled(X), X + 1)
        with girih.set_stance("default", force_backend=other):
            assert torch.equal(compiled(X), X + 1)
    assert (own.graphs, own.calls) == (1, 2) == (other.graphs, other.calls)


def test_it_counts_in_what_a_function_calls_and_after_a_break():
    own, other = Counting(), Counting()

    def inner(x):
        girih.graph_break()
        return x * 2

    def function(x):
        y = inner(x + 1)
        girih.graph_break()
        return y - 3

    compiled = girih.compile(function, backend=own)
    with girih.set_stance(force_backend=other):
        assert torch.equal(compiled(X), function(X))
    assert own.graphs == 0 < other.graphs
    assert torch.equal(compiled(X), function(X))
    assert own.graphs == own.calls == other.graphs == other.calls


def test_it_has_entries_up_to_the_limit():
    own, other = Counting(), Counting()
    compiled = girih.compile(
        lambda x, n: x + n, backend=own, dynamic=False, recompile_limit=2
    )
    for n in range(2):
        compiled(X, n)
    with girih.set_stance(force_backend=other):
        for n in range(2):
            assert torch.equal(compiled(X, n), X + n)
    for n in range(2):
        compiled(X, n)
    assert own.graphs == other.graphs == 2
    assert own.calls == 4


def test_names_and_reports():
    compiled = girih.compile(lambda x: x.sin() + 1, backend="eager")
    with girih.set_stance(force_backend="girih"):
        torch.testing.assert_close(compiled(X), X.sin() + 1)
        assert girih.report(compiled).kernels == 1
    compiled.reset()
    assert girih.report(compiled).kernels == 0
    with pytest.raises(ValueError, match="'girrih'.*did you mean 'girih'"):
        girih.set_stance(force_backend="girrih")
    with pytest.raises(TypeError, match="must be a name or a callable"):
        girih.set_stance(force_backend=3)


def test_as_a_decorator():
    own, other = Counting(), Counting()
    compiled = girih.compile(lambda x: x + 1, backend=own)

    @girih.set_stance(force_backend=other)
    def forced(x):
        return compiled(x)

    for _ in range(2):
        forced(X)
        compiled(X)
    assert own.graphs == other.graphs == 1
    assert stance.forced() is None


def test_derivatives_of_a_forced_backend():
    compiled = girih.compile(lambda x: (x * x).sin().sum())
    for backend in ("eager", "aot_eager", "girih"):
        x = X.clone().requires_grad_()
        with girih.set_stance(force_backend=backend):
            compiled(x).backward()
        torch.testing.assert_close(x.grad, (X * X).cos() * 2 * X)


def test_explain_and_pieces_keep_their_own_backend():
    other = Counting()
    compiled = girih.compile(lambda x: x + 1)
    with girih.set_stance(force_backend=other):
        explained = girih.explain(compiled)(X)
    assert explained.graph_count == 1 and not other.graphs


@pytest.mark.parametrize("loaded", [True, False])
def test_torchs_forced_backend_counts_at_both_entrances(loaded):
    run_after_torch(
        f"""
        import torch
        if {loaded}:
            import torch._dynamo
            torch.compiler.set_stance("default", force_backend="eager")
            torch.compiler.set_stance("default")
        import girih

        graphs = []
        def other(gm, inputs):
            graphs.append(gm)
            return gm.forward

        x = torch.arange(3.0)
        by_girih = girih.compile(lambda x: x.sin() + 1)
        by_torch = torch.compile(lambda x: x.sin() + 1, backend="girih")
        with torch.compiler.set_stance("default", force_backend=other):
            for compiled in (by_girih, by_torch):
                assert torch.equal(compiled(x), x.sin() + 1)
        assert len(graphs) == 2
        assert girih.report(by_girih).kernels == 0 == girih.report().kernels
        for compiled in (by_girih, by_torch):
            torch.testing.assert_close(compiled(x), x.sin() + 1)
            assert girih.report(compiled).kernels == 1
        assert len(graphs) == 2

        again = torch.compile(lambda x: x.cos() + 1, backend="eager")
        with torch.compiler.set_stance("default", force_backend="girih"):
            torch.testing.assert_close(again(x), x.cos() + 1)
        assert girih.report().kernels == 2
        """
    )


def test_a_forced_backend_from_before_girih_counts():
    run_after_torch(
        """
        import torch

        graphs = []
        def other(gm, inputs):
            graphs.append(gm)
            return gm.forward

        torch.compiler.set_stance("default", force_backend=other)
        import girih

        compiled = girih.compile(lambda x: x + 1)
        compiled(torch.ones(3))
        assert len(graphs) == 1 and not girih.report(compiled).graphs
        torch.compiler.set_stance("default")
        compiled(torch.ones(3))
        assert len(graphs) == 1 and girih.report(compiled).kernels == 1
        """
    )
