"""Programs that define plugins, each run in a process of its own."""

import textwrap
from pathlib import Path

from processes import COMPILERS, run_file_after_torch

START = """
import torch, girih
from girih.plugins import operand, result
mine = girih.plugin("mine")

def op(name, base):
    def compute(x: torch.Tensor) -> torch.Tensor:
        return x * 2
    made = torch.library.custom_op(f"mine::{name}", compute, mutates_args=())
    made.register_fake(torch.empty_like)
    made.register_autograd(lambda ctx, g: g * 2)

    class AnOp(base, name=name):
        '''y = 2 * x.'''
        x = operand()
        y = result()
        @staticmethod
        def infer_types(types, attributes):
            return [types[0]]

    @mine.imports(f"mine::{name}")
    def import_call(b, x):
        return b.op(f"mine.{name}", [x], {})

    return made

def error_of(function, grad=False):
    def program(x):
        return function(x.exp()) + 1
    compiled = girih.compile(program, options={"fallback": False})
    try:
        y = compiled(torch.ones(3, requires_grad=grad))
        y.sum().backward() if grad else None
    except girih.GirihError as error:
        return str(error)
    return "no error"
"""


def run(text: str, tmp_path: Path, **environment: str) -> str:
    """Runs a program in a process of its own; gives what it prints."""
    path = tmp_path / "program.py"
    text = textwrap.dedent(text)
    if not path.exists() or path.read_text() != text:  # its time says it was edited
        path.write_text(text)
    environment = {"GIRIH_CACHE_DIR": str(tmp_path / "cache")} | environment
    status, printed = run_file_after_torch(path, loaded=COMPILERS, **environment)
    assert status == 0, printed
    return printed
