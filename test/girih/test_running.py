"""girih.run executes IR of every level, and refuses arguments that @main can't take."""

import re

import pytest
import torch
from torch import nn
from torch.nn import functional

import girih
from girih.running.api import Loaded


def dumped(program, inputs, folder, **options):
    """Calls a compiled function that dumps its IR; returns what it returned."""
    given = {"dump_dir": str(folder), "fallback": False}
    return girih.compile(program, options=given, **options)(*inputs)


def files(folder):
    return sorted(folder.rglob("*.mlir"))


def without_first_line(text):
    return re.sub(r"\A// .*\n", "", text)


def softmax(x, w):
    return torch.softmax(x @ w, -1).sum(0) * 2


def several(x, y, factor):
    return x.relu() + y * factor, x.reshape(-1), x.shape[0] * 2


def writing(x):
    x.mul_(2)
    return x + 1


def inputs_of(program):
    x = torch.randn(8, 16)
    if program is softmax:
        return (x, torch.randn(16, 4))
    return (x, torch.randn(16, 8).t(), 2.5) if program is several else (x.t(),)


def assert_same(actual, expected):
    expected = expected if isinstance(expected, tuple) else (expected,)
    actual = actual if isinstance(actual, tuple) else (actual,)
    for one, other in zip(actual, expected, strict=True):
        torch.testing.assert_close(one, other)


@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("program", [softmax, several, writing])
def test_every_level_of_inference_runs(program, dynamic, tmp_path):
    with torch.no_grad():
        dumped(program, inputs_of(program), tmp_path, dynamic=dynamic)
    assert len(files(tmp_path)) == 5
    for file in files(tmp_path):
        for source in (file, str(file), without_first_line(file.read_text())):
            inputs = inputs_of(program)
            copies = [x.clone() if torch.is_tensor(x) else x for x in inputs]
            given = copies[: len(Loaded(source).arguments.list)]
            result, expected = girih.run(source, *given), program(*inputs)
            if program is several:  # ints that Python computes are no results
                result, expected = result[:2], expected[:2]
            assert_same(result, expected)
            assert_same(tuple(copies), tuple(inputs))


def test_other_sizes_of_a_dynamic_program(tmp_path):
    dumped(softmax, inputs_of(softmax), tmp_path, dynamic=True)
    for file in files(tmp_path):
        x, w = torch.randn(5, 7), torch.randn(7, 3)
        assert_same(girih.run(file, x, w), softmax(x, w))


@pytest.fixture
def training(tmp_path):
    """A dumped training step: its loss, gradients, and inputs of the programs."""
    model = nn.Sequential(nn.Linear(16, 8), nn.GELU(), nn.Linear(8, 2))
    x, target = torch.randn(8, 16), torch.randn(8, 2)

    def loss(x, target, *parameters):
        first = functional.gelu(functional.linear(x, *parameters[:2]))
        return functional.mse_loss(functional.linear(first, *parameters[2:]), target)

    given = (x, target, *model.parameters())
    expected = loss(*given)
    gradients = torch.autograd.grad(expected, list(model.parameters()))
    dumped(loss, given, tmp_path).backward()
    return tmp_path, given, expected.detach(), gradients


def test_every_level_of_training_runs(training):
    folder, given, expected, gradients = training
    forward = files(next(folder.glob("*-graph0")))
    assert [file.stem[2:] for file in forward[:3]] == ["graph", "derivatives", "graph"]
    assert_same(girih.run(forward[0], *given), expected)
    assert_same(girih.run(without_first_line(forward[0].read_text()), *given), expected)
    for file in forward[1:]:
        for source in (file, without_first_line(file.read_text())):
            loss, *saved = girih.run(source, *given)
            assert_same(loss, expected)
            assert not loss.requires_grad and saved
    backward = files(next(folder.glob("*-graph0.backward")))
    assert len(backward) == 5
    kept = re.findall(r'graph.saved = "(arg|out)(\d+)"', backward[0].read_text())
    places = {"arg": given, "out": (loss, *saved)}
    values = [places[kind][int(number)] for kind, number in kept]
    for file in backward:
        for source in (file, without_first_line(file.read_text())):
            before = [value.clone() for value in values]
            found = girih.run(source, *values, torch.ones(()))
            assert_same(found, gradients)
            assert_same(tuple(values), tuple(before))  # also those that are given away


def test_an_edited_file_runs(tmp_path):
    x = torch.randn(4, 4)
    dumped(lambda x: x.sin() + 1, (x,), tmp_path)
    for file in files(tmp_path)[:4]:
        text = file.read_text()
        edited = re.sub(r"\b(graph|math)\.sin\b", r"\1.cos", text)
        assert edited != text
        assert_same(girih.run(edited, x), x.cos() + 1)


def test_constants_of_a_frozen_program_are_computed(tmp_path):
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU()).eval()
    x = torch.randn(2, 3, 8, 8)
    options = {"dump_dir": str(tmp_path), "freezing": True, "fallback": False}
    with torch.no_grad():
        girih.compile(model, options=options)(x)
        (whole,) = tmp_path.rglob("*-whole.mlir")
        first, norm, _ = model
        statistics = (norm.running_mean, norm.running_var, norm.weight, norm.bias)
        order = (x, first.weight, first.bias, *statistics)
        assert_same(girih.run(whole, *order), model(x))


def test_a_program_without_kernels_runs(tmp_path):
    x = torch.randn(4, 4)
    dumped(torch.mm, (x, x + 1), tmp_path)
    for file in files(tmp_path):
        assert_same(girih.run(file, x, x + 1), x @ (x + 1))


def test_a_failed_check_is_an_error(tmp_path):
    def program(x, index):
        return x[index] * 2

    x, index = torch.randn(4, 3), torch.tensor([0, 3])
    dumped(program, (x, index), tmp_path)
    for file in files(tmp_path):
        assert_same(girih.run(file, x, index), program(x, index))
        with pytest.raises(RuntimeError, match="an index is out of range"):
            girih.run(file, x, index + 1)


STATIC = """
func.func @main(%a: tensor<4x3xf32> {graph.name = "a"}, %b: tensor<3xi64>)
    -> tensor<4x3xf32> {
  return %a : tensor<4x3xf32>
}
"""
DYNAMIC = """
func.func @main(%a: tensor<?x3xf32, ["s0"]>, %b: tensor<?xf32, ["2*s0"]>,
                %n: index {graph.symbol = "s1"}, %x: tensor<f64> {graph.number})
    -> tensor<?x3xf32, ["s0"]>
    attributes {graph.symbols = {s0 = [2, 9], s1 = [1, 100]}} {
  return %a : tensor<?x3xf32, ["s0"]>
}
"""
A, B, LONG = torch.zeros(4, 3), torch.zeros(8), torch.zeros(3, dtype=torch.int64)
WRONG = [
    (STATIC, (A,), TypeError, r"takes 2 arguments \(float32\[4, 3\], int64\[3\]\), go"),
    (STATIC, (A, A), TypeError, r"argument 1 to be int64\[3\], got float32\[4, 3\]"),
    (STATIC, (2, LONG), TypeError, r"argument 0 \(a\) to be float32\[4, 3\], got 2 of"),
    (STATIC, (A[0], LONG), ValueError, r"\(a\) to have rank 2 .*got float32\[3\]"),
    (STATIC, (A[:3], LONG), ValueError, r"size 0 of argument 0 \(a\) to be 4 .*\[3, 3"),
    (DYNAMIC, (A, B[1:], 1, 1.0), ValueError, r"size 0 of argument 1 to be 2\*s0 = 8"),
    (DYNAMIC, (A[:1], B[:2], 1, 1.0), ValueError, "is s0, to be from 2 to 9, got 1"),
    (DYNAMIC, (A, B, 1.5, 1.0), TypeError, "argument 2 to be int, got 1.5 of type flo"),
    (DYNAMIC, (A, B, 1, "x"), TypeError, "argument 3 to be number of type float64"),
    (DYNAMIC, (A, B, 0, 1.0), ValueError, "argument 2, which is s1, to be from 1 to"),
]


@pytest.mark.parametrize(("text", "inputs", "kind", "message"), WRONG)
def test_wrong_arguments(text, inputs, kind, message):
    with pytest.raises(kind, match=message):
        girih.run(text, *inputs)


def test_symbols_that_disagree():
    text = DYNAMIC.replace("2*s0", "s0")
    with pytest.raises(
        ValueError, match="size 0 of argument 1 to be s0 = 4, as size 0"
    ):
        girih.run(text, A, B, 1, 1.0)


def test_right_arguments():
    assert girih.run(STATIC, A, LONG).equal(A)
    assert girih.run(DYNAMIC, A, B, 1, 2).equal(A)


def for_a_gpu(file):
    """A file as if it were dumped for a GPU, as far as the device says it."""
    text = file.read_text()
    return re.sub(
        r"(@main.*) \{\n", r'\1 attributes {graph.device = "cuda:0"} {\n', text
    )


def test_ir_for_another_device(tmp_path):
    """A graph has no device of its own; a launch program has."""
    x, w = inputs_of(softmax)
    dumped(softmax, (x, w), tmp_path)
    for file in files(tmp_path)[:2]:
        text = for_a_gpu(file)
        assert "cuda" in text
        assert_same(girih.run(text, x, w), softmax(x, w))
    for file in files(tmp_path)[2:]:
        with pytest.raises(
            girih.UnsupportedError, match="computes on cuda:0"
        ) as caught:
            girih.run(for_a_gpu(file), x, w)
        assert caught.value.kind == "module of another device"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (STATIC.replace("@main", "@other"), "expected - to have a function @main"),
        (
            STATIC.replace("return", "returns"),
            r"^-:4:\d+: error: .*\n.*returns.*\n *\^",
        ),
        (
            STATIC.replace("%a : tensor", '"graph.sine"(%a) : tensor'),
            r"^-:4:\d+: error: .*\n.*graph.sine.*\n *\^",
        ),
    ],
)
def test_texts_that_are_no_program(text, message):
    with pytest.raises(ValueError, match=message):
        girih.run(text, A, LONG)


def test_a_function_that_nobody_has():
    text = """
        llvm.func @nobody()
        llvm.func @run0(%a: !llvm.ptr) { llvm.call @nobody() : () -> () llvm.return }
        func.func @main(%a: !tile.buffer<f32, [4], [1]>) { host.return }
    """
    with pytest.raises(girih.CompileError, match="no loaded library exports nobody"):
        girih.run(text, A[:, 0].contiguous())


def test_a_module_of_two_levels_is_refused():
    text = f"{STATIC}\nllvm.func @f()\n"
    with pytest.raises(ValueError, match="a module of one level"):
        girih.run(text, A, LONG)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError):
        girih.run(tmp_path / "1-graph.mlir")


def test_a_pass_that_is_not_loaded():
    line = "// RUN pipeline: girih-opt --load=mine --pass-pipeline='mine' %s"
    with pytest.raises(girih.CompileError, match="mine") as caught:
        girih.run(f"{line}\n{STATIC}", A, LONG)
    assert "loads ['mine']" in caught.value.__notes__[0]
