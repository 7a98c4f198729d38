"""Derivatives of ops of plugins, and what is said where there is none."""

from test.support.plugin_programs import START, run

NO_DERIVATIVE = """
import warnings
warnings.simplefilter("ignore")
count = torch.library.custom_op("mine::count", lambda x: x * 2, mutates_args=(),
                                schema="(Tensor x) -> Tensor")
count.register_fake(torch.empty_like)

class CountOp(mine.Unary, name="count"):
    '''y = 2 * x.'''

@mine.imports("mine::count")
def import_count(b, x):
    return b.op("mine.count", [x], {})

@mine.emits(CountOp)
def emit_count(b, node, values):
    return b.same("arith.addf", values[0], values[0])

for _ in range(2):  # as in a cell of a notebook that is run again
    mine.not_differentiable("It counts.", CountOp)
assert error_of(count) == "no error"
found = error_of(count, grad=True)
assert "'mine.count' has no derivative: It counts." in found, found
assert "girih bug" not in found, found

def program(x):
    return count(x.exp()) + 1

for function in (program, girih.compile(program)):
    x = torch.ones(3, requires_grad=True)
    y = function(x)
    try:
        y.sum().backward()
    except RuntimeError as error:
        assert "mine" in str(error) and "count" in str(error), error
    else:
        raise SystemExit(f"a gradient of {x.grad}")
"""


def test_a_derivative_that_is_not_there_is_an_error_as_in_eager(tmp_path):
    run(START + NO_DERIVATIVE, tmp_path)
