"""Names and values that ``girih.compile`` accepts."""

from dataclasses import fields, replace
from pathlib import Path

import pytest
import torch

import girih
from girih.compiler.cpu_code import CpuTarget
from girih.options import MODES, Options, check_mode, make_options


@pytest.mark.parametrize(
    ("values", "error", "words"),
    [
        ({"vectr_bits": 1}, ValueError, ["vectr_bits", "did you mean 'vector_bits'"]),
        ({"vectr_bits": 1}, ValueError, ["'cache_dir'", "'parallel_grain'"]),
        ({"vector_bits": 7}, ValueError, ["(0, 128, 256, 512)", "got 7"]),
        ({"parallel_grain": 0}, ValueError, ["at least 1"]),
        ({"cache": 1}, TypeError, ["'cache' must be bool", "int"]),
        ({"parallel_grain": True}, TypeError, ["must be int", "True"]),
        (["cache"], TypeError, ["options must be a dict", "list"]),
    ],
)
def test_bad_options_name_the_rule(values, error, words):
    with pytest.raises(error) as raised:
        make_options(values)
    assert all(word in str(raised.value) for word in words), str(raised.value)


def test_options_are_taken():
    assert make_options({"fallback_random": True}).fallback_random
    options = make_options({"cache_dir": Path("/x"), "vector_bits": 256})
    assert options == Options(cache_dir="/x", vector_bits=256)
    assert options.cache_folder() == Path("/x")
    assert make_options({"cache": False}).cache_folder() is None


def test_modes():
    assert check_mode(None) == "default"
    assert [check_mode(mode) for mode in MODES] == list(MODES)
    with pytest.raises(ValueError, match="unknown mode 'max-autotun'.*max-autotune"):
        check_mode("max-autotun")


def test_environment(monkeypatch):
    monkeypatch.setenv("GIRIH_CACHE_DIR", "/cache")
    monkeypatch.setenv("GIRIH_DUMP_DIR", "/dump")
    monkeypatch.setenv("GIRIH_FALLBACK", "0")
    assert Options().cache_folder() == Path("/cache")
    assert Options().dump_folder() == Path("/dump")
    assert not Options().falls_back()
    monkeypatch.setenv("GIRIH_NO_CACHE", "1")
    assert Options().cache_folder() is None


def test_each_option_has_a_meaning():
    listed = girih.list_options()
    assert list(listed) == [field.name for field in fields(Options)]
    for name, option in listed.items():
        assert option.meaning.endswith("."), name
        assert name in str(listed) and option.meaning.split()[0] in str(option)
        assert option.unit or not {"int", "float"} & set(option.type.split(" or "))
    assert listed["cudagraphs"].torch_name == "triton.cudagraphs"


def test_defaults_are_accepted():
    given = {f.name: f.default for f in fields(Options) if f.default is not None}
    assert make_options(given) == Options()


def test_modes_are_short_for_options():
    everything = girih.list_mode_options()
    assert list(everything) == girih.list_modes()
    for mode, options in everything.items():
        assert girih.list_mode_options(mode, dynamic=True) == options
        assert make_options(options) == make_options(None, mode)
    girih.list_mode_options("default")["cache"] = False
    everything["default"]["cache"] = False
    assert girih.list_mode_options("default") == {}
    with pytest.raises(ValueError, match="did you mean 'max-autotune'"):
        girih.list_mode_options("max-autotun")


@pytest.mark.parametrize(("wanted", "used"), [(0, 256), (128, 128), (512, 256)])
def test_vectors_are_no_wider_than_the_processors(wanted, used):
    """An instruction that the processor does not have ends the process."""
    target = CpuTarget(torch.device("cpu"))
    target.processor = replace(target.processor, vector_bits=256)
    passes = target.pass_options(Options(vector_bits=wanted))
    given = [vars(options).get("vector_bits") for options in passes.values()]
    assert {bits for bits in given if bits is not None} == {used}
