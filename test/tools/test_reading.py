"""Files that are wrong: each tool, and ``girih.run``, says what ``girih-opt`` says."""

import subprocess
import sys

import pytest

import girih
from girih.bisection import command as bisecting
from girih.running import command as running
from girih.tools import girih_opt, girih_translate
from girih.tools.reading import WrongIR

RIGHT = """func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = graph.sin %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}
"""
WRONG = {
    "an op that nobody defines": RIGHT.replace("sin", "sni"),
    "a value that nobody defines": RIGHT.replace("return %0", "return %1"),
    "a type that is not the op's": RIGHT.replace(
        "%x : tensor<4xf32>", "%x : (tensor<4xf32>) -> tensor<5xf32>"
    ).replace("return %0", "return %x"),
    "brackets that are too deep": '"a"() ({' * 3000,
}
CARETS = {
    "an op that nobody defines": "input.mlir:2:8: error: nobody defines the op "
    "'graph.sni'; did you mean 'graph.sin'?",
    "a value that nobody defines": "input.mlir:3:10: error: use of undeclared",
    "a type that is not the op's": "input.mlir:2:8: error: 'graph.sin' expected y",
    "brackets that are too deep": "input.mlir:1:2004: error: brackets are nested",
}
TOOLS = {
    "girih-run": running.main,
    "girih-translate": lambda argv: girih_translate.main(["--to-ttir", *argv]),
    "girih-bisect": lambda argv: bisecting.main([argv[0].rpartition("/")[0]]),
}


@pytest.fixture
def file(tmp_path):
    return tmp_path / "input.mlir"


def told(tool, file, capsys):
    """What a tool prints of an error."""
    capsys.readouterr()
    assert tool([str(file)]) == 1
    return capsys.readouterr().err.replace(f"{file.parent}/", "")


@pytest.mark.parametrize("what", WRONG)
def test_each_tool_says_the_same(what, file, capsys):
    file.write_text(WRONG[what])
    expected = told(girih_opt.main, file, capsys)
    first, line, caret = expected.splitlines()
    assert first.startswith(CARETS[what]) and caret.strip() == "^"
    assert line in WRONG[what]
    for name, tool in TOOLS.items():
        assert told(tool, file, capsys) == expected, name
    with pytest.raises(WrongIR) as caught:
        girih.run(file)
    assert str(caught.value).replace(f"{file.parent}/", "") == expected.rstrip("\n")


@pytest.mark.parametrize("content", [b"\xd0\xff", b"a\0b"])
def test_what_is_no_text(content, file, capsys):
    file.write_bytes(content)
    expected = told(girih_opt.main, file, capsys)
    assert "error: input.mlir is no text: " in expected
    for name, tool in TOOLS.items():
        assert told(tool, file, capsys) == expected, name
    with pytest.raises(ValueError, match="is no text"):
        girih.run(file)


def test_lines_of_another_system(file, capsys):
    file.write_bytes(WRONG["an op that nobody defines"].replace("\n", "\r\n").encode())
    assert told(girih_opt.main, file, capsys).count("\n") == 3


def test_a_file_that_ends_the_parser_leaves_the_process(file):
    file.write_text(WRONG["brackets that are too deep"])
    call = f"import girih\ntry: girih.run({str(file)!r})\nexcept ValueError: print(1)"
    done = subprocess.run([sys.executable, "-c", call], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "1\n"), done.stderr
