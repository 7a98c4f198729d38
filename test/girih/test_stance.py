"""The stance; what it means in single calls is in ``test_compiler_api``."""

from threading import Thread

import pytest
import torch
from processes import run_after_torch, run_python

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
        """
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
        ("girih.set_stance", "force_backend='eager'"),
        ("girih.set_stance", "skip_guard_eval_unsafe=True"),
        ("torch.compiler.set_stance", "force_backend='eager'"),
    ],
)
def test_torchs_arguments_have_no_effect_and_warn_once(setter, arguments):
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
        told = [w for w in told if issubclass(w.category, girih.SwitchWarning)]
        (warning,) = told
        name = "{arguments}".partition("=")[0]
        assert name in str(warning.message) and warning.filename == "<string>"
        assert girih.report(compiled).kernels == 1
        """
    )


def test_a_backend_goes_with_the_default_alone():
    with pytest.raises(RuntimeError, match="got the stance 'force_eager'"):
        girih.set_stance("force_eager", force_backend="eager")
