"""The importer as a whole: start-up, locations, errors, symbolic shapes, Dynamo."""

from __future__ import annotations

import copy

import pytest
import torch
import torch.nn.functional as F
from importing import (
    assert_imports,
    flat,
    graph_of,
    import_function,
    op_names,
)
from processes import run_after_torch
from torch._subclasses.fake_tensor import FakeTensorMode

from girih.dialects.verifier import verify
from girih.errors import UnsupportedError
from girih.evaluation.reference import evaluate, run
from girih.frontend.fake import LightFakeTensorMode
from girih.frontend.importer import import_graph

HEAVY = ("sympy", "torch._dynamo", "torch._inductor", "torch.distributed.tensor")


def test_loads_nothing_heavy():
    """A transformer block with cross-entropy: neither sympy nor Dynamo."""
    printed = run_after_torch(
        f"""
        import sys, torch
        import torch.nn.functional as F
        from girih.frontend.importer import import_graph

        def block(x, w, b, table, ids, labels):
            x = x + F.embedding(ids, table) * torch.tensor([0.5] * 8)
            h = F.layer_norm(x, (8,), b, b)
            q, k, v = (F.linear(h, w, b).view(2, 4, 2, 4).transpose(1, 2)
                       for _ in range(3))
            a = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + a.transpose(1, 2).reshape(2, 4, 8)
            x = x + F.dropout(F.gelu(F.linear(x, w)), 0.1)
            x = F.silu(F.rms_norm(x, (8,), b)).clamp(-1, 1)
            mask = torch.arange(4)[None] < ids.sum(1, keepdim=True)
            x = torch.where(mask[..., None], x, 0.0).masked_fill(x > 2, -1)
            x[:, 0] += 1
            y = torch.cat([x, x.flip(-1)], -1).softmax(-1).cumsum(0)
            kernel = w[None, None, :3, :3] * 1
            p = F.max_pool2d(F.conv2d(y[:, None], kernel, padding=1), 2)
            g = F.group_norm(y, 2) + F.batch_norm(y, b[:4], b[4:])
            loss = F.cross_entropy(x.reshape(8, 8), labels)
            return x, y.std(), p, g, F.pad(y, (1, 1)), loss, y.argmax(-1), y.tril()

        graph = torch.fx.Graph()
        inputs = [graph.placeholder(f"x{{i}}") for i in range(6)]
        graph.output(graph.call_function(block, tuple(inputs)))
        ids = torch.zeros(2, 4, dtype=torch.int64)
        values = [torch.randn(2, 4, 8), torch.randn(8, 8), torch.randn(8),
                  torch.randn(10, 8), ids, torch.zeros(8, dtype=torch.int64)]
        import_graph(torch.fx.GraphModule({{}}, graph), values)
        print([name for name in {HEAVY!r} if name in sys.modules])
        """
    )
    assert printed.strip() == "[]"


def test_locations():
    def function(x):
        return torch.tanh(x) + 1

    gm = graph_of(function, 1)
    node = next(node for node in gm.graph.nodes if node.op == "call_function")
    node.meta["girih_location"] = ("/some/model.py", 17, "forward")
    text = import_graph(gm, [torch.ones(2)]).module.operation.get_asm(
        enable_debug_info=True
    )
    assert '"/some/model.py":17' in text and '"aten.tanh.default"' in text
    del node.meta["girih_location"]
    node.meta["stack_trace"] = '  File "/x/y.py", line 3, in f\n    return x\n'
    text = import_graph(gm, [torch.ones(2)]).module.operation.get_asm(
        enable_debug_info=True
    )
    assert '"/x/y.py":3' in text


@pytest.mark.parametrize(
    "function, kind",
    [
        (lambda x: x.nonzero(), "data-dependent size"),
        (lambda x: x[x > 0], "data-dependent size"),
        (lambda x: x * x.sum().item(), "data-dependent value"),
        (lambda x: x + 1 if x.sum() > 0 else x, "data-dependent value"),
        (lambda x: x.view(7), "operation that fails"),
        (lambda x: x @ x, "operation that fails"),
        (lambda x: x + torch.ones(5), "operation that fails"),
        (lambda x: x.to_sparse(), "tensor layout"),
        (lambda x: (x + 1).set_(x), "view"),
    ],
)
def test_unsupported(function, kind):
    gm = graph_of(function, 1)
    node = next(node for node in gm.graph.nodes if node.op == "call_function")
    node.meta["girih_location"] = ("/some/model.py", 17, "forward")
    with pytest.raises(UnsupportedError) as raised:
        import_graph(gm, [torch.randn(2, 3)])
    assert raised.value.kind == kind
    assert raised.value.location.line == 17


def test_a_result_on_another_device_is_unsupported():
    gm = graph_of(lambda x: torch.empty(3, device="meta"), 1)
    with pytest.raises(UnsupportedError) as raised:
        import_graph(gm, [torch.randn(2, 3)])
    assert raised.value.kind == "tensor device"


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.view(torch.int32),
        lambda x: torch.view_as_complex(x),
        lambda x: (y := x * 2, y.view(torch.int32)),
    ],
)
def test_results_that_share_memory_have_one_dtype(function):
    with pytest.raises(UnsupportedError, match="two dtypes that share memory"):
        import_graph(graph_of(function, 1), [torch.randn(3, 2)])


def test_custom_ops_are_called():
    with torch.library._scoped_library("girih_test", "FRAGMENT") as library:
        library.define("double(Tensor x, int n) -> Tensor")
        library.impl("double", lambda x, n: x * 2 + n, "CPU")
        torch.library.register_fake(
            "girih_test::double", lambda x, n: torch.empty_like(x), lib=library
        )
        double = torch.ops.girih_test.double
        imported = assert_imports(lambda x: double(x + 1, 3), torch.randn(3))
        assert "extern" in op_names(imported)


def test_inputs_that_are_not_tensors():
    imported = import_function(lambda x, n, y: x * n + y, torch.ones(2), 3, 0.5)
    assert imported.input_indices == [0]
    assert evaluate(imported.module, [torch.ones(2)])[0].tolist() == [3.5, 3.5]


def test_grad_mode_calls_are_skipped():
    graph = torch.fx.Graph()
    x = graph.placeholder("x")
    graph.call_function(torch._C._set_grad_enabled, (True,))
    graph.output((graph.call_function(torch.relu, (x,)),))
    weight = torch.randn(3, requires_grad=True)
    imported = import_graph(torch.fx.GraphModule({}, graph), [weight])
    assert op_names(imported) == ["relu"]
    assert torch.is_grad_enabled()


def test_modes_are_restored_after_an_error():
    with pytest.raises(UnsupportedError):
        import_function(lambda x: x.nonzero(), torch.ones(3))
    assert type(torch.ones(2) + 1) is torch.Tensor
    assert torch.is_grad_enabled()


def test_inference_mode():
    with torch.inference_mode():
        imported = import_function(lambda x: F.linear(x, x).relu(), torch.ones(3, 3))
    assert op_names(imported) == ["permute", "mm", "relu"]


def test_kinds_of_inputs_that_are_refused():
    with pytest.raises(UnsupportedError, match="conjugated"):
        constant = torch.ones(2, dtype=torch.cfloat).conj()
        import_function(lambda x: x + constant, torch.ones(2))
    with pytest.raises(UnsupportedError, match="layout"):
        import_function(lambda x: x * 1, torch.ones(2, 2).to_sparse())
    with pytest.raises(UnsupportedError, match="dtype"):
        quantized = torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.quint8)
        import_function(lambda x: x, quantized)


MODULES = dict(
    lstm=lambda: (torch.nn.LSTM(4, 5, batch_first=True), (2, 3, 4)),
    gru=lambda: (torch.nn.GRU(4, 5, bidirectional=True), (3, 2, 4)),
    encoder=lambda: (torch.nn.TransformerEncoderLayer(8, 2, 16).eval(), (2, 3, 8)),
    encoder_training=lambda: (torch.nn.TransformerEncoderLayer(8, 2, 16), (2, 3, 8)),
    instance_norm=lambda: (torch.nn.InstanceNorm2d(4), (2, 4, 5, 5)),
    upsample=lambda: (torch.nn.Upsample(scale_factor=2), (2, 4, 3, 3)),
    conv3d=lambda: (torch.nn.Conv3d(2, 4, 3), (1, 2, 5, 5, 5)),
    batch_norm=lambda: (torch.nn.BatchNorm1d(6), (3, 6)),
)


@pytest.mark.parametrize("name", list(MODULES))
def test_modules(name):
    """Modules whose parameters are found by the importer; buffers are written."""
    module, shape = MODULES[name]()
    x = torch.randn(shape)
    imported = import_function(lambda x: module(x), x)
    twin = copy.deepcopy(module)
    with torch.no_grad():
        torch.manual_seed(1)
        expected = flat(twin(x))
        torch.manual_seed(1)
        torch.testing.assert_close(run(imported, [x]), expected)
    torch.testing.assert_close(list(module.buffers()), list(twin.buffers()))


def test_autocast():
    def function(x, w):
        with torch.autocast("cpu", torch.bfloat16):
            return F.linear(x, w).relu() + 1

    imported = assert_imports(function, torch.randn(3, 4), torch.randn(5, 4))
    assert "bf16" in str(imported.module)


def test_threads():
    from concurrent.futures import ThreadPoolExecutor

    def one(n):
        x = torch.randn(n, 3)
        imported = import_function(lambda x: F.softmax(x @ x.t() + 1, -1), x)
        expected = F.softmax(x @ x.t() + 1, -1)
        torch.testing.assert_close(evaluate(imported.module, [x])[0], expected)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(one, range(1, 24)))


# Symbolic shapes ------------------------------------------------------------------


MODES = [FakeTensorMode, LightFakeTensorMode]


def symbolic_inputs(*tensors, dims=(0,), kind=FakeTensorMode):
    """Fake tensors in which the sizes of ``dims`` are symbols."""
    from torch._dynamo.source import ConstantSource
    from torch.fx.experimental.symbolic_shapes import (
        DimDynamic,
        ShapeEnv,
        StatelessSymbolicContext,
    )

    mode = kind(shape_env=ShapeEnv())
    fakes = []
    for number, tensor in enumerate(tensors):
        if not isinstance(tensor, torch.Tensor):
            fakes.append(tensor)
            continue
        dynamic = [
            DimDynamic.DYNAMIC if d in dims else DimDynamic.STATIC
            for d in range(tensor.dim())
        ]
        context = StatelessSymbolicContext(dynamic_sizes=dynamic)
        source = ConstantSource(f"x{number}")
        fakes.append(mode.from_tensor(tensor, source=source, symbolic_context=context))
    return fakes


def check_symbolic(function, make, sizes, dims=(0,), kind=FakeTensorMode):
    """One import serves all sizes."""
    first = make(sizes[0])
    inputs = symbolic_inputs(*first, dims=dims, kind=kind)
    imported = import_graph(graph_of(function, len(first)), inputs)
    verify(imported.module)
    assert "graph.symbols" in str(imported.module)
    for size in sizes:
        values = make(size)
        expected = function(*values)
        expected = expected if isinstance(expected, tuple) else (expected,)
        actual = evaluate(imported.module, [*values, *imported.lifted])
        torch.testing.assert_close(tuple(actual), tuple(expected))
    return imported


SYMBOLIC = dict(
    pointwise=lambda x: (x + 1).relu() * x.size(0),
    softmax=lambda x: x.softmax(0),
    mean=lambda x: (x.mean(0), x.var(1), x.sum()),
    layer_norm=lambda x: F.layer_norm(x, (6,)),
    view=lambda x: x.view(-1),
    reshape=lambda x: x.t().reshape(x.shape[0] * 2, 3),
    cat=lambda x: torch.cat([x, x]),
    slices=lambda x: (x[1:], x[:-1], x[:, 2:4]),
    matmul=lambda x: x @ x.t(),
    linear=lambda x: F.linear(x, torch.ones(5, 6)),
    arange=lambda x: x + torch.arange(x.shape[0])[:, None],
    zeros=lambda x: torch.zeros(x.shape[0], 3) + 1,
    expand=lambda x: x[None].expand(3, -1, -1) + 1,
    pad=lambda x: F.pad(x, (0, 0, 1, 2)),
    repeat=lambda x: x.repeat(2, 1),
    write=lambda x: (x + 0).index_fill_(1, torch.tensor([1]), 2.0),
    write_row=lambda x: torch.zeros_like(x).add_(x[0]),
    causal=lambda x: torch.ones(x.shape[0], x.shape[0]).tril(),
    gelu=lambda x: F.gelu(x).amax(0),
    argmax=lambda x: x.argmax(0),
    cumsum=lambda x: x.cumsum(0),
    where=lambda x: torch.where(x > 0, x, torch.zeros(x.shape)),
    stack=lambda x: torch.stack([x, x]).transpose(0, 1).flatten(),
    attention=lambda x: F.scaled_dot_product_attention(
        *(x.view(1, -1, 2, 3).transpose(1, 2) for _ in range(3))
    ),
    division=lambda x: x / x.shape[0],
    index=lambda x: x[torch.tensor([0, 1, -1])],
    flip=lambda x: x.flip(0),
    roll=lambda x: x.roll(1, 0),
)


@pytest.mark.parametrize("kind", MODES)
@pytest.mark.parametrize("name", list(SYMBOLIC))
def test_symbolic(name, kind):
    if name == "pad" and kind is FakeTensorMode:
        pytest.skip("torch's own rule makes the size a constant")
    sizes = [4, 7, 2, 13]
    check_symbolic(SYMBOLIC[name], lambda n: [torch.randn(n, 6)], sizes, kind=kind)


def test_two_symbols():
    def make(sizes):
        return [torch.randn(sizes[0], 3, sizes[1]), torch.randn(sizes[1], 4)]

    check_symbolic(
        lambda x, y: (x @ y).relu().flatten(0, 1),
        make,
        [(3, 5), (2, 7)],
        dims=(0, 2),
    )


def test_sizes_found_equal_during_the_import():
    def make(n):
        return [torch.randn(n, 3), torch.randn(n, 3)]

    imported = check_symbolic(lambda x, y: x * 2 + y, make, [4, 6])
    assert '"s1"' not in str(imported.module)


@pytest.mark.parametrize("kind", MODES)
def test_sizes_found_to_be_one_during_the_import(kind):
    def double(x):
        half = x.narrow(0, 0, x.shape[0] // 2)
        return x + half, half * x, torch.where(half > 0, x, half), half + half

    check_symbolic(double, lambda n: [torch.randn(n, 4)], [3, 2], kind=kind)


def test_integer_outputs():
    x = torch.randn(5, 3)
    gm = graph_of(lambda x: (x + 1, x.shape[0] * 2), 1)
    imported = import_graph(gm, symbolic_inputs(x))
    assert evaluate(imported.module, [x])[1] == 10


# The other door -------------------------------------------------------------------


def imported_by_dynamo(model, *inputs, dynamic=None):
    """What the importer makes of the graphs that torch.compile captures."""
    graphs = []

    def backend(gm, example_inputs):
        imported = import_graph(gm, example_inputs)
        verify(imported.module)
        graphs.append(imported)

        def compiled(*values):
            values = [values[i] for i in imported.input_indices]
            results = evaluate(imported.module, [*values, *imported.lifted])
            return [results[slot.value] for slot in imported.outputs]

        return compiled

    torch._dynamo.reset()
    with torch.no_grad():
        expected = model(*inputs)
        actual = torch.compile(model, backend=backend, dynamic=dynamic)(*inputs)
    return graphs, actual, expected


@pytest.mark.parametrize("dynamic", [False, True])
def test_dynamo_graphs(dynamic):
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first = torch.nn.Linear(4, 8)
            self.norm = torch.nn.LayerNorm(8)

        def forward(self, x):
            return self.norm(F.gelu(self.first(x)) * 2).sum(-1)

    x = torch.randn(5, 4)
    graphs, actual, expected = imported_by_dynamo(Model(), x, dynamic=dynamic)
    assert len(graphs) == 1
    torch.testing.assert_close(actual, expected)


@pytest.mark.parametrize("name", ["bert", "gpt2"])
def test_transformers(name):
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(0)
    if name == "bert":
        config = transformers.BertConfig(
            num_hidden_layers=2, hidden_size=32, num_attention_heads=4,
            intermediate_size=64, vocab_size=100,
        )  # fmt: skip
        model = transformers.BertModel(config).eval()
    else:
        config = transformers.GPT2Config(
            n_layer=2, n_embd=32, n_head=4, vocab_size=100, use_cache=False
        )
        model = transformers.GPT2LMHeadModel(config).eval()
    ids = torch.randint(0, 100, (2, 7))
    graphs, actual, expected = imported_by_dynamo(model, ids)
    assert len(graphs) == 1 and "extern" not in op_names(graphs[0])
    torch.testing.assert_close(actual[0], expected[0], rtol=1e-4, atol=1e-5)
