"""What operations are known to raise because of their data, against what they raise."""

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F

import girih
from girih.frontend.capture import data_errors, repeatable
from girih.frontend.capture.data_errors import errors_of, plain_name

X = torch.arange(12.0).view(3, 4)
ONE = torch.ones(1, 4)
INDEX = torch.tensor([9])
ROW = torch.tensor([[9, 0, 0, 0]])
TARGET = torch.tensor([9, 10, 11])
ZEROS = torch.zeros(3, dtype=torch.long)
SINGULAR = torch.zeros(3, 3)
NAN = torch.full((3, 3), torch.nan)

# Operations, and arguments that they raise for.
RAISING: list[tuple[Callable, tuple]] = [
    (lambda x, i: x[i], (X, INDEX)),
    (lambda x, i: x[:, i], (X, INDEX)),
    (lambda x, i: x.index_put((i,), x[:1]), (X, INDEX)),
    (lambda x, i: x.index_select(0, i), (X, INDEX)),
    (lambda x, i: x.index_fill(0, i, 1.0), (X, INDEX)),
    (lambda x, i: x.index_copy(0, i, x[:1]), (X, INDEX)),
    (lambda x, i: x.index_add(0, i, x[:1]), (X, INDEX)),
    (lambda x, i: x.index_add(0, i, x[:1]), (X[0], INDEX)),
    (lambda x, i: x.index_reduce(0, i, x[:1], "prod"), (X, INDEX)),
    (lambda x, i: x.take(i), (X, INDEX + 90)),
    (lambda x, i: x.put(i, x[0, :1]), (X, INDEX + 90)),
    (lambda x, i: x.gather(0, i), (X, ROW)),
    (lambda x, i: x.scatter(0, i, 1.0), (X, ROW)),
    (lambda x, i: x.scatter_add(0, i, x), (X, ROW)),
    (lambda x, i: x.scatter_reduce(0, i, x, "sum"), (X, ROW)),
    (lambda x, y: x.masked_scatter(x > 0, y), (X, ONE)),
    (lambda x, i: F.embedding(i, x), (X, INDEX)),
    (lambda x, i: F.embedding_bag(i, x, torch.zeros(1, dtype=torch.long)), (X, INDEX)),
    (lambda i: F.one_hot(i, 3), (INDEX,)),
    (F.nll_loss, (X, TARGET)),
    (F.cross_entropy, (X, TARGET)),
    (F.binary_cross_entropy, (X, X)),
    (F.multi_margin_loss, (X, TARGET)),
    (F.multilabel_margin_loss, (X, torch.full((3, 4), 9))),
    (lambda x, i: F.max_unpool1d(x, i, 2), (ONE[None], torch.full((1, 1, 4), 90))),
    (torch.histc, (NAN,)),
    (torch._assert_async, (ZEROS[0],)),
    (torch.linalg.cholesky, (-torch.eye(3),)),
    (torch.cholesky_inverse, (SINGULAR,)),
    (torch.inverse, (SINGULAR,)),
    (torch.linalg.inv, (SINGULAR,)),
    (torch.linalg.solve, (SINGULAR, SINGULAR)),
    (torch.linalg.lu_factor, (SINGULAR,)),
    (torch.linalg.eig, (NAN,)),
    (torch.linalg.eigh, (NAN,)),
    (torch.linalg.svd, (NAN,)),
    (torch.linalg.pinv, (NAN,)),
    (torch.linalg.matrix_power, (SINGULAR, -1)),
    (lambda x: torch.linalg.matrix_norm(x, "nuc"), (NAN,)),
    (lambda x: torch.linalg.cond(x), (NAN,)),
    (lambda x, i: x // i, (TARGET, ZEROS)),
    (lambda x, i: x % i, (TARGET, ZEROS)),
    (lambda x, i: 5 // i, (TARGET, ZEROS)),
    (lambda x, i: x.div(i, rounding_mode="trunc"), (TARGET, ZEROS)),
    (torch.fmod, (TARGET, ZEROS)),
    (torch.quantile, (X, torch.tensor(2.0))),
    (torch.bernoulli, (X,)),
    (torch.poisson, (-X,)),
    (torch.normal, (X, -X - 1)),
    (lambda x: torch.multinomial(x, 1), (-X,)),
]

# Operations that never raise because of their data, with arguments.
CERTAIN: list[tuple[Callable, tuple]] = [
    (lambda x: x[x > 1], (X,)),
    (lambda x: x[1:, None], (X,)),
    (lambda x: x // 2, (TARGET,)),
    (lambda x, y: x / y, (TARGET, ZEROS)),
    (lambda x: x % 2, (X,)),
    (lambda x: x.norm(), (X,)),
    (lambda x: torch.linalg.norm(x, dim=1), (X,)),
    (lambda x: torch.linalg.vector_norm(x), (X,)),
    (lambda x: F.dropout(x, 0.5, True), (X,)),
    (lambda x: torch.empty_like(x).normal_(), (X,)),
    (lambda x: torch.empty_like(x).bernoulli_(0.5), (X,)),
    (lambda x, y: F.binary_cross_entropy_with_logits(x, y), (X, X)),
]


def _errors(function, arguments: tuple) -> set[type]:
    """What the operations of a function's graph are known to raise."""
    found: set[type] = set()

    def backend(graph, examples):
        calls = (n for n in graph.graph.nodes if n.op.startswith("call"))
        found.update(error for node in calls for error in errors_of(node))
        return graph

    girih.reset()
    compiled = girih.compile(lambda *args: function(*args), backend=backend)
    try:
        compiled(*arguments)
    except (RuntimeError, IndexError):
        assert found
    return found


@pytest.mark.parametrize(("function", "arguments"), RAISING)
def test_what_is_raised_is_known(function, arguments):
    with pytest.raises((RuntimeError, IndexError)) as raised:
        function(*arguments)
    known = _errors(function, arguments)
    assert raised.type in known
    assert known <= {IndexError, RuntimeError, torch.linalg.LinAlgError}


@pytest.mark.parametrize(("function", "arguments"), CERTAIN)
def test_what_never_raises_is_known(function, arguments):
    assert _errors(function, arguments) == set()


# Parts of the names of operations that may look at their data.
PARTS = (
    *("index", "gather", "scatter", "take", "embedding", "one_hot", "unpool"),
    *("nll_loss", "cross_entropy", "ctc_loss", "margin_loss", "segment_reduce"),
    *("multinomial", "bernoulli", "poisson", "bincount", "histc", "histogram"),
    *("repeat_interleave", "linalg_", "cholesky", "solve", "assert", "quantile"),
)
# Those of them that raise for shapes and dtypes alone.
NEVER_RAISE = frozenset(
    ("as_strided_scatter", "assert_tensor_metadata", "binary_cross_entropy_with_logits")
    + ("cosine_embedding_loss", "cross", "det", "diagonal", "diagonal_scatter")
    + ("hinge_embedding_loss", "householder_product", "lu", "matmul", "matrix_exp")
    + ("multi_dot", "poisson_nll_loss", "powsum", "qr")
    + ("select_scatter", "slice_scatter", "slogdet", "soft_margin_loss")
    + ("soft_margin_loss_backward", "solve_triangular", "take_along_dim")
    + ("triangular_solve", "triplet_margin_loss", "vander", "vecdot")
    + ("vector_norm", "batch_norm_impl_index", "batch_norm_impl_index_backward")
    + ("masked_scatter_backward", "resolve_conj", "resolve_neg")
)


def test_all_operations_of_torch_are_known():
    names = {
        name.split("::")[1].split(".")[0]
        for name in torch._C._dispatch_get_all_op_names()
        if name.startswith("aten::")
    }
    looking = {plain_name(n) for n in names if any(part in n for part in PARTS)}
    unknown = looking - set(data_errors._ERRORS) - NEVER_RAISE
    assert sorted(unknown) == []
    assert sorted(NEVER_RAISE - looking) == []


@pytest.mark.parametrize(
    ("function", "draws"),
    [
        (lambda x: F.dropout(x, 0.5, False), False),
        (lambda x: F.dropout(x, 0.5, training=False), False),
        (lambda x: F.dropout(x), True),
        (lambda x: torch.dropout(x, 0.5, train=False), False),
        (lambda x: torch.dropout(x, 0.5, True), True),
        (lambda x: F.alpha_dropout(x, 0.5), False),
        (lambda x: F.alpha_dropout(x, 0.5, True), True),
        (lambda x: F.feature_alpha_dropout(x, 0.5), False),
        (lambda x: F.dropout1d(x, 0.5), True),
        (lambda x: F.rrelu(x), False),
        (lambda x: torch.rrelu(x, training=True), True),
        (lambda x: F.scaled_dot_product_attention(x, x, x), False),
        (lambda x: F.scaled_dot_product_attention(x, x, x, None, 0.5), True),
        (lambda x: torch.rand_like(x), True),
    ],
)
def test_what_draws_random_numbers_is_known(function, draws):
    """As the state of the generator says."""
    x, seen = X[None].neg(), []

    def backend(graph, examples):
        calls = [n for n in graph.graph.nodes if n.op.startswith("call")]
        seen.append(all(map(repeatable._is_harmless, calls)))
        return graph

    before = torch.get_rng_state()
    function(x)
    assert torch.equal(torch.get_rng_state(), before) != draws
    girih.compile(lambda x: function(x), backend=backend)(x)
    assert seen == [not draws]


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("compile", [girih.compile, torch.compile])
def test_windows_that_do_not_overlap(compile, dynamic):
    def function(x, window):
        return torch.istft(x, 10, window=window)

    options = {} if compile is girih.compile else {"backend": "girih"}
    compiled = compile(function, dynamic=dynamic, **options)
    for frames in (7, 9):
        x = torch.rand(6, frames, dtype=torch.complex128)
        window = torch.hann_window(10)
        torch.testing.assert_close(compiled(x, window), function(x, window))
        with pytest.raises(RuntimeError) as expected:
            function(x, torch.zeros(10))
        with pytest.raises(RuntimeError) as found:
            compiled(x, torch.zeros(10))
        assert str(found.value) == str(expected.value)
