"""What prints a stage's plan has the options of that stage."""

import pytest
import torch

import girih
from girih.passes.reproducer import first_line
from girih.tools import girih_opt

FULL = {"fallback": False, "cache": False}
ROWS = """func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "graph.exp"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "graph.add"(%0, %y) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
"""
KERNEL = """
"tile.kernel"() ({
^bb0(%x: !tile.buffer<f32, [64], [1]>, %y: !tile.buffer<f32, [64], [1]>):
  %0 = "tile.read"(%x) : (!tile.buffer<f32, [64], [1]>) -> tensor<64xf32>
  %1 = "graph.neg"(%0) : (tensor<64xf32>) -> tensor<64xf32>
  "tile.write"(%1, %y) : (tensor<64xf32>, !tile.buffer<f32, [64], [1]>) -> ()
}) {domain = [64], outputs = 1 : i64, reduced = array<i64>, sym_name = "negated",
    symbols = []} : () -> ()
"""


def summed(x, y):
    return x.exp() + y


def printed(capfd, passes, **options):
    """What passes print while a program is compiled, and its number of kernels."""
    compiled = girih.compile(summed, options=FULL | options | {"passes": passes})
    with torch.no_grad():
        compiled(torch.ones(4, 16), torch.ones(4, 16))
    return capfd.readouterr().out, girih.report(compiled).graphs[0].kernels


@pytest.mark.parametrize(("most", "kernels"), [(1, 2), (8, 1)])
def test_the_plan_that_is_printed_is_the_plan_made(capfd, most, kernels):
    out, made = printed(
        capfd, {"before:fuse": "print-fusion-plan"}, max_fusion_inputs=most
    )
    assert out.count("fusion 1: ") == made - 1 == kernels - 1


def test_options_that_a_pass_was_given_hold(capfd):
    passes = {"before:fuse": "print-fusion-plan{max-inputs=1}"}
    assert "fusion 1: " in printed(capfd, passes)[0]


@pytest.mark.parametrize(("bits", "lanes"), [(128, 16), (256, 32)])
def test_a_schedule_that_is_printed_is_the_one_made(capfd, bits, lanes):
    """A flat kernel keeps four registers busy."""
    passes = {"before:tile": "print-schedules"}
    assert f" {lanes} lanes" in printed(capfd, passes, vector_bits=bits)[0]


def opt(capfd, tmp_path, text, *options):
    path = tmp_path / "dump.mlir"
    path.write_text(text)
    code = girih_opt.main([*options, str(path)])
    out, err = capfd.readouterr()
    assert code == 0, err
    return out


@pytest.mark.parametrize(
    ("line", "option", "lanes"),
    [
        ("tile{vector-bits=512},cse", "--print-schedules", 16),
        ("mine,no:such,tile{vector-bits=512}", "--print-schedules", 16),
        ("tile{vector-bits=512},cse", "--print-schedules=vector-bits=128", 4),
        ("cpu", "--print-schedules", 8),
        ("tile{no-such=1}", "--print-schedules", 8),
        ("tile{", "--print-schedules", 8),
    ],
)
def test_the_first_line_of_a_dump_says_options(capfd, tmp_path, line, option, lanes):
    text = f"{first_line(line)}\n{KERNEL}"
    assert f"negated: flat: 64 points, {lanes} lanes" in opt(
        capfd, tmp_path, text, option
    )


def test_passes_of_one_class_agree(capfd, tmp_path):
    text = f"{first_line('fuse{max-inputs=1}')}\n{ROWS}"
    out = opt(capfd, tmp_path, text, "--print-fusion-plan", "--fuse")
    assert "fusion 1: " in out and out.count(" graph.fusion ") == 2
