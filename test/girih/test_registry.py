"""Backends by name: which there are, which are registered, and the default."""

import pytest
import torch
from processes import COMPILERS, run_after_torch

import girih
from girih import registry


@pytest.fixture(autouse=True)
def _default_afterwards():
    yield
    girih.set_default_backend(None)


def test_names_are_torchs_and_girihs():
    assert set(girih.list_backends()) == {"girih", *torch.compiler.list_backends()}
    everything = girih.list_backends(None)
    assert {"eager", "aot_eager", "inductor", "girih"} <= set(everything)
    assert set(everything) == {"girih", *torch.compiler.list_backends(None)}
    assert "eager" not in girih.list_backends()
    assert "eager" in girih.list_backends(exclude_tags=("experimental",))


def test_what_is_registered_is_found_by_both_and_listed():
    run_after_torch(
        """
        import torch, girih
        calls = []

        @girih.register_backend
        def first(gm, example_inputs, *, mode=None, options=None):
            calls.append((mode, options))
            return gm.forward

        @girih.register_backend(name="second", tags=("debug",))
        def other(gm, example_inputs):
            calls.append("second")
            return gm.forward

        torch._dynamo.register_backend(lambda gm, inputs: gm.forward, name="third")
        x = torch.ones(3)
        for name in ("first", "second", "third"):
            for compile in (girih.compile, torch.compile):
                compiled = compile(lambda x: x.sin() + 1, backend=name)
                assert torch.equal(compiled(x), x.sin() + 1)
        assert calls == [(None, None)] * 2 + ["second"] * 2, calls
        girih.compile(lambda x: x + 1, backend="first", mode="fast")(x)
        options = {"level": 3, "recompile_limit": 2}  # the last is one of capture
        girih.compile(lambda x: x + 1, backend="first", options=options)(x)
        assert calls[4:] == [("fast", None), (None, {"level": 3})], calls
        assert {"first", "third"} <= set(girih.list_backends())
        assert "second" not in girih.list_backends()
        assert "second" in girih.list_backends(())
        try:
            girih.register_backend(other, "first")
        except ValueError as error:
            assert "'first' is there already" in str(error)
        else:
            raise AssertionError("a name was taken twice")
        """,
        loaded=COMPILERS,
    )


def test_names_of_entry_points_are_found(tmp_path):
    (tmp_path / "their_backend.py").write_text(
        "def compile(gm, example_inputs):\n    print('theirs')\n    return gm.forward\n"
    )
    info = tmp_path / "theirs-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: theirs\nVersion: 1\n")
    (info / "entry_points.txt").write_text(
        "[torch_dynamo_backends]\ntheirs = their_backend:compile\n"
    )
    program = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
        "import torch, girih\n"
        "assert 'theirs' in girih.list_backends()\n"
        "girih.compile(lambda x: x + 1, backend='theirs')(torch.ones(3))\n"
    )
    assert run_after_torch(program) == "theirs\n"


def test_a_package_that_registers_its_backend_on_import(tmp_path):
    (tmp_path / "torch_migraphx.py").write_text(
        "import torch._dynamo\n"
        "torch._dynamo.register_backend(lambda gm, i: gm.forward, name='migraphx')\n"
    )
    program = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
        "import torch, girih\n"
        "girih.compile(lambda x: x + 1, backend='migraphx')(torch.ones(3))\n"
    )
    run_after_torch(program, loaded=COMPILERS)


def test_a_package_that_does_not_register_its_backend(tmp_path):
    (tmp_path / "torch_migraphx.py").touch()
    program = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
        "import torch, girih\n"
        "try: girih.compile(torch.sin, backend='migraphx')\n"
        "except ImportError as error: print(error)\n"
    )
    assert "installed, but registers no backend 'migraphx'" in run_after_torch(program)


@pytest.mark.parametrize("name", sorted(registry.PROVIDERS))
def test_what_is_not_installed_says_what_to_install(name, monkeypatch):
    monkeypatch.setattr(registry, "_is_installed", lambda module: False)
    package, install = registry.PROVIDERS[name]
    with pytest.raises(ImportError, match=f"'{name}' needs the package") as caught:
        girih.compile(torch.sin, backend=name)
    assert package.partition(".")[0] in str(caught.value)
    assert str(caught.value).endswith(install)


def test_unknown_names_get_the_closest_one():
    with pytest.raises(ValueError, match="'inducter'.*did you mean 'inductor'") as it:
        girih.compile(torch.sin, backend="inducter")
    assert "TESTING_ONLY" not in str(it.value)
    with pytest.raises(ValueError, match="did you mean 'openvino'"):
        girih.compile(torch.sin, backend="openvin")


def test_wrong_backends_are_not_registered():
    with pytest.raises(TypeError, match="expects a callable, got int"):
        girih.register_backend(3)
    for name in ("girih", "eager", "inductor"):
        with pytest.raises(ValueError, match=f"'{name}' is there already"):
            girih.register_backend(lambda gm, inputs: gm.forward, name)


def test_the_default_is_used_where_none_is_given():
    graphs = []

    def backend(gm, example_inputs):
        graphs.append(gm)
        return gm.forward

    assert girih.get_default_backend() == "girih"
    girih.set_default_backend(backend)
    assert girih.get_default_backend() is backend
    function = girih.compile(lambda x: x + 1)
    decorated = girih.compile(fullgraph=True)
    girih.set_default_backend("eager")  # decides later calls of compile, no others
    for compiled in (function, decorated(lambda x: x * 2)):
        compiled(torch.ones(3))
    girih.explain(lambda x: x + 1)(torch.ones(3))
    girih.compile(lambda x: x + 1)(torch.ones(3))
    girih.compile(lambda x: x + 1, backend="girih")(torch.ones(3))
    assert len(graphs) == 2
    with pytest.raises(TypeError, match="name or a callable, got int"):
        girih.set_default_backend(3)


def test_torchs_default_is_for_torch_compile_alone():
    before = torch.compiler.get_default_backend()
    try:
        torch.compiler.set_default_backend("eager")
        assert girih.get_default_backend() == "girih"
        girih.set_default_backend("aot_eager")
        assert torch.compiler.get_default_backend() == "eager"
    finally:
        torch.compiler.set_default_backend(before)


def test_torchs_compiler_is_loaded_for_its_names_only():
    run_after_torch(
        """
        import sys, torch, girih
        girih.set_default_backend("girih")
        for backend in (None, "eager", "girih", lambda gm, inputs: gm.forward):
            girih.compile(lambda x: x + 1, backend=backend)(torch.ones(3))
        assert "torch._dynamo" not in sys.modules
        girih.compile(lambda x: x + 1, backend="eager_noexcept")
        assert "torch._dynamo" in sys.modules
        """
    )
