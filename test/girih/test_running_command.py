"""girih-run: random inputs, files of inputs and results, errors and exit codes."""

import re
from importlib.metadata import entry_points

import pytest
import torch

import girih
from girih.running import command
from girih.running.api import Loaded
from girih.running.made import random_values

TEXT = """
func.func @main(
    %x: tensor<?x3xf32, ["s0"]> {graph.name = "x"}, %n: index {graph.symbol = "s1"},
    %i: tensor<2xi64>, %f: tensor<f64> {graph.number}, %b: tensor<?xi1, ["2*s0"]>,
    %c: tensor<2xcomplex<f32>>)
    -> (tensor<?x3xf32, ["s0"]>, tensor<2xi64>)
    attributes {graph.symbols = {s0 = [2, 3], s1 = [20, 40]}} {
  %0 = graph.sin %x : tensor<?x3xf32, ["s0"]>
  return %0, %i : tensor<?x3xf32, ["s0"]>, tensor<2xi64>
}
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "1-graph.mlir"
    path.write_text(TEXT)
    return path


@pytest.fixture
def run(capsys):
    """Runs the tool; returns exit code, standard output and standard error."""

    def run(*arguments):
        try:
            code = command.main([str(argument) for argument in arguments])
        except SystemExit as stop:
            code = stop.code
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


def test_random_inputs_fit_the_types(file):
    arguments = Loaded(file).arguments
    x, n, i, f, b, c = random_values(arguments, 3, "cpu")
    assert (x.shape, n, b.shape) == ((3, 3), 20, (6,))
    assert i.tolist() == [0, 0] and isinstance(f, float) and c.dtype == torch.complex64
    again, other = (random_values(arguments, seed, "cpu")[0] for seed in (3, 4))
    assert again.equal(x) and not other.equal(x)


def test_results_of_random_inputs(file, run):
    code, out, err = run(file)
    assert (code, err) == (0, "")
    assert "random inputs, seed 0" in out
    assert "argument 0 (x): float32[3, 3]  min" in out
    assert "argument 1: int 20" in out
    assert re.search(r"0: float32\[3, 3\]  min -?0\.\d+  max 0\.\d+  mean", out)
    assert "1: int64[2]  min 0  max 0  mean 0" in out
    assert run(file, "--random-seed=1")[1] != out


def test_inputs_results_and_comparison(file, run, tmp_path):
    x = torch.tensor([[0.0, torch.inf, torch.nan], [1.0, 2.0, 3.0]])
    inputs = [x, 20, torch.tensor([4, 5]), 1.0, torch.ones(4) > 0]
    inputs.append(torch.zeros(2, dtype=torch.complex64))
    torch.save(inputs, tmp_path / "inputs.pt")
    given = [file, "--inputs", tmp_path / "inputs.pt"]
    code, out, _ = run(*given, "--save", tmp_path / "saved.pt")
    assert code == 0 and "inputs.pt:" in out
    saved = torch.load(tmp_path / "saved.pt", weights_only=True)
    torch.testing.assert_close(saved[0], x.sin(), equal_nan=True)
    assert saved[1].tolist() == [4, 5]
    code, out, _ = run(*given, "--compare", tmp_path / "saved.pt")
    assert code == 0
    assert out.count("close, largest difference 0\n") == 2
    saved[0][1, 2] += 0.25
    torch.save(tuple(saved), tmp_path / "saved.pt")
    code, out, _ = run(*given, "--compare", tmp_path / "saved.pt")
    assert code == 1
    assert "0: NOT close, largest difference 0.25: " in out and "at [1, 2]" in out
    torch.save([saved[0][:1], saved[1]], tmp_path / "saved.pt")
    code, out, _ = run(*given, "--compare", tmp_path / "saved.pt")
    assert code == 1 and "float32[2, 3]  min" in out and "instead of float32[1" in out
    torch.save(saved[0], tmp_path / "saved.pt")
    code, out, _ = run(*given, "--compare", tmp_path / "saved.pt")
    assert code == 1 and "has 1 results, @main has 2" in out


def test_two_levels_agree(run, tmp_path):
    options = {"dump_dir": str(tmp_path), "fallback": False}
    girih.compile(lambda x: x.softmax(-1), options=options)(torch.randn(8, 9))
    first, *others = sorted(tmp_path.rglob("*.mlir"))
    assert run(first, "--save", tmp_path / "0.pt", "--target=cpu")[0] == 0
    for file in others:
        assert run(file, "--compare", tmp_path / "0.pt")[0] == 0


@pytest.mark.parametrize(
    ("content", "arguments", "message"),
    [
        (TEXT.replace("sin", "sine"), (), r"1-graph.mlir:8:\d+: error: .*graph.sine"),
        (TEXT.replace("@main", "@f"), (), "error: .*to have a function @main"),
        (TEXT, ("--inputs", "{}/none.pt"), "error: .*none.pt"),
        (TEXT, ("--inputs", "{}/1-graph.mlir"), "error: .*is no file of tensors: "),
        (TEXT, ("--inputs", "{}/one.pt"), "error: @main takes 6 arguments .*, got 1"),
        (TEXT, ("--inputs", "{}/dict.pt"), "error: .*to hold a list of values, got a"),
        (TEXT, ("--load", "no_such_module"), "error: cannot load no_such_module"),
        (TEXT, ("--target", "tpu"), "error: argument --target: invalid choice: 'tpu'"),
        (TEXT, ("--seed", "1"), "error: unrecognized arguments: --seed 1"),
    ],
)
def test_errors(content, arguments, message, run, file, tmp_path):
    file.write_text(content)
    torch.save(torch.zeros(2, 3), tmp_path / "one.pt")
    torch.save({"x": torch.zeros(2, 3)}, tmp_path / "dict.pt")
    code, out, err = run(file, *(each.format(tmp_path) for each in arguments))
    assert code == 1 and "results" not in out
    assert re.search(message, err), err
    shown = 3 if "graph.sine" in content else 2  # the line and a caret
    assert len(err.splitlines()) <= shown, err


def test_what_the_first_line_loads_is_named(run, file):
    line = "// RUN pipeline: girih-opt --load=mine --pass-pipeline='mine' %s"
    file.write_text(f"{line}\n{TEXT}")
    code, _, err = run(file)
    assert code == 1 and "note: The first line of" in err and "loads ['mine']" in err


def test_help_has_examples(run):
    code, out, _ = run("--help")
    assert code == 0 and "--compare before.pt" in out and "torch.save(list" in out


def test_it_is_installed_as_a_script():
    (entry,) = entry_points(group="console_scripts", name="girih-run")
    assert entry.load() is command.main
