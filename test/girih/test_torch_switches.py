"""Switches: torch's configuration, environment variables, torch's arguments."""

import pytest
import torch
from processes import COMPILERS, run_after_torch

import girih

X = torch.arange(3.0)

START = """
import torch, girih, warnings
import torch._dynamo.config as switches
def compiled_calls(*given, **arguments):
    function = girih.compile(lambda x: x + 1, backend="eager", **arguments)
    for x in given:
        assert torch.equal(function(x), x + 1)
    return function.cache_statistics()["captures"]
sizes = [torch.ones(n) for n in (3, 4, 5, 6)]
dtypes = [x.to(d) for d, x in zip((torch.float, torch.double, torch.int), sizes)]
"""

# By the switch: a program that sets it and one that shows what it does.
HONOURED = {
    "recompile_limit": "switches.recompile_limit = 2\n"
    "warnings.simplefilter('ignore')\n"
    "assert compiled_calls(*dtypes) == 2\n"
    "assert compiled_calls(*dtypes, recompile_limit=3) == 3\n"
    "assert compiled_calls(*dtypes, options={'recompile_limit': 3}) == 3",
    "fail_on_recompile_limit_hit": "switches.fail_on_recompile_limit_hit = True\n"
    "try: compiled_calls(*dtypes, recompile_limit=2)\n"
    "except girih.UnsupportedError as error: assert 'recompile limit' in str(error)\n"
    "else: raise SystemExit('no error')",
    "error_on_recompile": "switches.error_on_recompile = True\n"
    "assert compiled_calls(sizes[0], sizes[0]) == 1\n"
    "try: compiled_calls(*sizes)\n"
    "except girih.RecompileError as error: text = str(error)\n"
    "assert 'error_on_recompile is set' in text, text\n"
    "assert 'expected 3, actual 4' in text, text",
    "automatic_dynamic_shapes": "assert compiled_calls(*sizes) == 2\n"
    "switches.automatic_dynamic_shapes = False\n"
    "assert compiled_calls(*sizes) == 4\n"
    "assert compiled_calls(*sizes, dynamic=True) == 1",
    "assume_static_by_default": "switches.assume_static_by_default = False\n"
    "assert compiled_calls(*sizes) == 1\n"
    "assert compiled_calls(*sizes, dynamic=False) == 4",
    "disable": "switches.disable = True\n"
    "def f(x): return x\n"
    "assert girih.compile(f) is f and girih.compile()(f) is f",
}


@pytest.mark.parametrize("name", HONOURED)
def test_a_switch_counts(name):
    run_after_torch(START + HONOURED[name], loaded=COMPILERS)


def test_a_switch_without_effect_is_told_once():
    run_after_torch(
        START
        + """
for name in ("capture_scalar_outputs", "specialize_int", "specialize_float",
             "capture_dynamic_output_shape_ops", "accumulated_recompile_limit",
             "compiled_autograd", "reorderable_logging_functions"):
    setattr(switches, name, 7)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        compiled_calls(*sizes)
        compiled_calls(*sizes)
    assert [name in str(w.message) for w in told] == [True], (name, told)
    assert told[0].filename == "<string>", told[0].filename
""",
        loaded=COMPILERS,
    )


def test_a_switch_of_inductor_without_effect_is_told_once():
    run_after_torch(
        """
import torch, girih, warnings
import torch._inductor.config as switches
def texts(backend):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        girih.compile(torch.sin, backend=backend)
    return [str(w.message) for w in told]
torch.use_deterministic_algorithms(True)
assert texts("girih") == []
switches.fallback_random = True
switches.cpp.threads = 1
switches.post_grad_custom_pre_pass = lambda graph: None
assert texts("inductor") == []
told = sorted(texts("girih"))
assert len(told) == 3, told
assert "cpp.threads has no effect" in told[0] and "inductor" in told[0]
assert "options={'fallback_random': ...}" in told[1]
assert "post_grad_custom_pre_pass" in told[2]
assert texts("girih") == []
""",
        loaded=COMPILERS,
    )


def test_torchs_compiler_is_not_loaded_for_this():
    run_after_torch(
        "import sys, torch, girih\n"
        "girih.compile(lambda x: x + 1)(torch.ones(3))\n"
        "assert 'torch._dynamo.config' not in sys.modules"
    )


# Environment variables ----------------------------------------------------------------

DISABLED = """
import torch, girih
for compile in (girih.compile, lambda f: torch.compile(f, backend="girih")):
    function = compile(lambda x: x.sin() + 1)
    x = torch.ones(3)
    assert torch.equal(function(x), x.sin() + 1)
    with girih.set_stance("eager_on_recompile"):
        function(x)
    function(x)
    assert not girih.report().graphs
model = girih.compile(torch.nn.Linear(3, 2))
model(x)
assert not girih.report(model).graphs
assert "disables" in str(girih.report(model))
"""


@pytest.mark.parametrize(
    "name", ["GIRIH_DISABLE", "TORCH_COMPILE_DISABLE", "TORCHDYNAMO_DISABLE"]
)
def test_a_variable_disables_everything(name):
    # Torch's compiler reads its own variables when it is loaded.
    loaded = COMPILERS if name.startswith("GIRIH") else ()
    run_after_torch(DISABLED, loaded=loaded, **{name: "1"})
    with pytest.raises(BaseException, match="Assertion"):
        run_after_torch(DISABLED, loaded=loaded, **{name: "0"})


# Arguments ----------------------------------------------------------------------------


def test_a_name_begins_the_names_of_graphs(tmp_path):
    options = {"dump_dir": tmp_path}
    compiled = girih.compile(lambda x: x + 1, name="my decoder/1", options=options)
    compiled(X)
    assert girih.report(compiled).graphs[0].name == "my_decoder_10"
    folders = [folder.name.partition("-")[2] for folder in tmp_path.iterdir()]
    assert folders == ["my_decoder_10"]


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ({"name": 3}, TypeError, "name must be a str, got 3"),
        ({"recompile_limit": 0}, ValueError, "recompile_limit must be .* got 0"),
        ({"recompile_limit": True}, ValueError, "recompile_limit must be .* got True"),
        ({"isolate_recompiles": 1}, TypeError, "isolate_recompiles must be True or"),
    ],
)
def test_mistaken_arguments(arguments, error, text):
    with pytest.raises(error, match=text):
        girih.compile(torch.sin, **arguments)


def test_a_decorator_hands_arguments_on():
    @girih.compile(recompile_limit=1, isolate_recompiles=True, name="mine")
    def function(x):
        return x + 1

    function(X)
    with pytest.warns(girih.FallbackWarning, match="recompile limit"):
        function(X.double())
    assert girih.report(function).graphs[0].name == "mine0"
