"""Host functions become programs; generated code is played by Python functions."""

import ctypes
import gc
import weakref

import pytest
import torch

from girih.codegen.runtime import torch_entry
from girih.codegen.runtime.program import VISITORS, build_program
from girih.dialects import host
from girih.dialects.bindings import ir
from girih.dialects.context import make_context

NATIVE = ctypes.CFUNCTYPE(
    None,
    ctypes.POINTER(ctypes.c_void_p),
    ctypes.POINTER(ctypes.c_int64),
    ctypes.POINTER(ctypes.c_int32),
)


class Native:
    """A function of generated code that Python plays.

    Args:
        body: takes a flat tensor over each buffer's memory; False fails the check.
        sizes: elements of each buffer; texts are evaluated with the symbols `s`.
        symbols: how many symbols are passed.
    """

    def __init__(self, body, sizes, symbols=0, dtype=torch.float32):
        self.calls = []

        def run(pointers, values, status):
            s = [values[i] for i in range(symbols)]
            counts = [eval(str(size), {"s": s}) for size in sizes]
            tensors = [
                view_memory(pointers[i], count, dtype) for i, count in enumerate(counts)
            ]
            self.calls.append((tuple(pointers[i] for i in range(len(sizes))), tuple(s)))
            status[0] = int(body(*tensors) is False)

        self.function = NATIVE(run)
        self.address = ctypes.cast(self.function, ctypes.c_void_p).value


def view_memory(address, count, dtype):
    if not count:
        return torch.empty(0, dtype=dtype)
    data = (ctypes.c_char * (count * dtype.itemsize)).from_address(address)
    return torch.frombuffer(data, dtype=dtype)


def build(body, natives=(), *, arguments, results="", attributes="", **details):
    """A program from the text of `@main`'s body.

    Args:
        body: host ops.
        natives: what plays `run0`, `run1`, ...
        arguments: text of the arguments.
        results: text of the result types.
        attributes: text of the function's attributes.
        details: keywords of `build_program`.
    """
    text = f"func.func @main({arguments}) -> ({results}) {attributes} {{\n{body}\n}}"
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        addresses = {f"run{i}": native.address for i, native in enumerate(natives)}
        return build_program(module, addresses, owner=natives, **details)


F4 = "!tile.buffer<f32, [4], [1]>"
F2X3 = "!tile.buffer<f32, [2, 3], [3, 1]>"


def launch(buffers, types, *, kernel="k0", outputs=1, symbols="[]", run="run0"):
    return (
        f'"host.native"() ({{ "host.launch"({buffers}) {{kernel = @{kernel}, outputs = '
        f"{outputs} : i64, symbols = {symbols}}} : ({types}) -> () }}) "
        f"{{function = @{run}}} : () -> ()"
    )


def double(x, y):
    y.copy_(2 * x)


def test_every_host_op_is_understood():
    inside_native_calls = {"host.launch"}
    assert set(VISITORS) == set(host.OPS) - inside_native_calls


def test_one_kernel():
    native = Native(double, [4, 4])
    program = build(
        f"""
        %0 = "host.alloc"() : () -> {F4}
        {launch("%x, %0", f"{F4}, {F4}")}
        "host.return"(%0) : ({F4}) -> ()
        """,
        [native],
        arguments=f"%x: {F4}",
        results=F4,
    )
    x = torch.randn(4)
    (y,) = program(x)
    assert torch.equal(y, 2 * x)
    assert native.calls == [((x.data_ptr(), y.data_ptr()), ())]
    assert (program.kernels, program.launches, program.externs) == (1, 1, 0)
    assert program.workspace_bytes == 0


def test_addresses_must_be_given():
    with pytest.raises(LookupError, match="no generated code is called run0"):
        build(launch("%x", F4), arguments=f"%x: {F4}")


def test_views_of_inputs_are_pointers_for_kernels():
    native = Native(double, [2, 2])
    two = "!tile.buffer<f32, [2], [1]>"
    program = build(
        f"""
        %0 = "host.view"(%x) {{offset = 1 : i64}} : ({F4}) -> {two}
        %1 = "host.view"(%0) {{offset = 1 : i64}} : ({two}) -> {two}
        %2 = "host.alloc"() : () -> {two}
        {launch("%1, %2", f"{two}, {two}")}
        "host.return"(%2) : ({two}) -> ()
        """,
        [native],
        arguments=f"%x: {F4}",
        results=two,
    )
    x = torch.randn(8)[2:6]
    assert torch.equal(program(x)[0], 2 * x[2:])


def test_symbols_and_dynamic_sizes():
    kind = '!tile.buffer<f32, ["s0", "s1"], ["s1", 1]>'
    flat = '!tile.buffer<f32, ["s0*s1"], [1]>'
    native = Native(double, ["s[0]*s[1]"] * 2, symbols=2)
    program = build(
        f"""
        %0 = "host.alloc"() : () -> {flat}
        {launch("%x, %0", f"{kind}, {flat}", symbols='["s0", "s1"]')}
        %1 = "host.size"() {{expr = "s0 + 2*s1"}} : () -> index
        "host.return"(%0, %1) : ({flat}, index) -> ()
        """,
        [native],
        arguments=f'%n: index {{graph.symbol = "s1"}}, %x: {kind}',
        results=f"{flat}, index",
    )
    for shape in [(2, 3), (0, 5), (7, 1)]:
        x = torch.randn(shape)
        y, size = program(shape[1], x)
        assert torch.equal(y, 2 * x.flatten()) and size == shape[0] + 2 * shape[1]
        assert native.calls[-1][1] == shape


def test_externs_take_tensors_views_and_constants():
    transposed = "!tile.buffer<f32, [3, 2], [1, 3]>"
    square = "!tile.buffer<f32, [3, 3], [3, 1]>"
    program = build(
        f"""
        %0 = "host.view"(%x) {{offset = 0 : i64}} : ({F2X3}) -> {transposed}
        %1 = "host.extern"(%0, %x) {{op = "aten.mm.default",
          args = [{{operand = 0 : i64}},
          {{operand = 1 : i64}}], kwargs = {{}}}} : ({transposed}, {F2X3}) -> {square}
        "host.free"(%0) : ({transposed}) -> ()
        %2 = "host.extern"(%1) {{op = "aten.sum.dim_IntList",
          args = [{{operand = 0 : i64}},
          [0, -1], true],
          kwargs = {{dtype = {{dtype = "float64"}}}}}} : ({square})
          -> !tile.buffer<f64, [1, 1], [1, 1]>
        "host.free"(%1) : ({square}) -> ()
        "host.return"(%2) : (!tile.buffer<f64, [1, 1], [1, 1]>) -> ()
        """,
        arguments=f"%x: {F2X3}",
        results="!tile.buffer<f64, [1, 1], [1, 1]>",
    )
    x = torch.randn(2, 3)
    expected = torch.sum(x.t() @ x, [0, 1], True, dtype=torch.float64)
    assert torch.equal(program(x)[0], expected)
    assert program.externs == 2


def test_externs_with_lists_of_tensors_and_several_results():
    half = "!tile.buffer<f32, [1, 3], [3, 1]>"
    long = "!tile.buffer<i64, [1, 3], [3, 1]>"
    program = build(
        f"""
        %0 = "host.extern"(%x, %x) {{op = "aten.cat.default",
          args = [[{{operand = 0 : i64}}, {{operand = 1 : i64}}], 0], kwargs = {{}}}}
          : ({F2X3}, {F2X3}) -> !tile.buffer<f32, [4, 3], [3, 1]>
        %1, %2 = "host.extern"(%0) {{op = "aten.max.dim",
          args = [{{operand = 0 : i64}}, 0, true], kwargs = {{}}}}
          : (!tile.buffer<f32, [4, 3], [3, 1]>) -> ({half}, {long})
        "host.free"(%1) : ({half}) -> ()
        "host.return"(%2) : ({long}) -> ()
        """,
        arguments=f"%x: {F2X3}",
        results=long,
    )
    x = torch.randn(2, 3)
    assert torch.equal(program(x)[0], x.max(0, keepdim=True).indices)


def test_results_are_the_tensors_among_what_aten_returns():
    nested = {"t": (torch.ones(2), [torch.zeros(1), None], 3)}["t"]
    assert [len(tensor) for tensor in torch_entry.flatten_tensors(nested)] == [2, 1]
    rows = "!tile.buffer<f32, [1, 3], [3, 1]>"
    program = build(
        f"""
        %0, %1 = "host.extern"(%x) {{op = "aten.split.Tensor",
          args = [{{operand = 0 : i64}}, 1], kwargs = {{}}}}
          : ({F2X3}) -> ({rows}, {rows})
        "host.return"(%1) : ({rows}) -> ()
        """,
        arguments=f"%x: {F2X3}",
        results=rows,
    )
    x = torch.randn(2, 3)
    assert torch.equal(program(x)[0], x[1:])


def test_strides_of_aten_results_are_repaired_before_kernels_read_them():
    transposed = "!tile.buffer<f32, [3, 2], [1, 3]>"
    native = Native(double, [6, 6])
    program = build(
        f"""
        %0 = "host.extern"(%x) {{op = "aten.clone.default",
          args = [{{operand = 0 : i64}}],
          kwargs = {{}}}} : ({transposed}) -> !tile.buffer<f32, [3, 2], [2, 1]>
        %1 = "host.alloc"() : () -> !tile.buffer<f32, [3, 2], [2, 1]>
        {launch("%0, %1", ", ".join(["!tile.buffer<f32, [3, 2], [2, 1]>"] * 2))}
        "host.return"(%1) : (!tile.buffer<f32, [3, 2], [2, 1]>) -> ()
        """,
        [native],
        arguments=f"%x: {transposed}",
        results="!tile.buffer<f32, [3, 2], [2, 1]>",
    )
    x = torch.randn(2, 3).t()
    assert torch.equal(program(x)[0], 2 * x)


def test_strides_of_aten_results_are_repaired_before_backward_programs_read_them():
    """What a differentiable program returns is saved, and cotangents lie like it."""
    transposed = "!tile.buffer<f32, [3, 2], [1, 3]>"
    announced = "!tile.buffer<f32, [3, 2], [2, 1]>"
    body = f"""
        %0 = "host.extern"(%x) {{op = "aten.clone.default",
          args = [{{operand = 0 : i64}}],
          kwargs = {{}}}} : ({transposed}) -> {announced}
        "host.return"(%0) : ({announced}) -> ()
        """
    given = {"arguments": f"%x: {transposed}", "results": announced}
    x = torch.randn(2, 3).t()
    (returned,) = build(body, **given)(x)
    assert returned.stride() == (1, 3)  # ATen's own
    (saved,) = build(body, attributes="attributes {host.differentiable}", **given)(x)
    assert saved.stride() == (2, 1) and torch.equal(saved, x)


def test_returned_views_share_storage_as_in_eager():
    column = "!tile.buffer<f32, [2], [3]>"
    program = build(
        f"""
        %0 = "host.view"(%x) {{offset = 1 : i64}} : ({F2X3}) -> {column}
        "host.return"(%0, %x) {{views = array<i64: 0>}} : ({column}, {F2X3}) -> ()
        """,
        arguments=f"%x: {F2X3}",
        results=f"{column}, {F2X3}",
    )
    x = torch.randn(3, 3)[1:]
    column, same = program(x)
    assert same is x
    assert column._base is x._base and torch.equal(column, x[:, 1])
    version = x._version
    column.zero_()
    assert x[:, 1].eq(0).all() and x._version == version + 1


def test_results_are_views_only_where_the_program_says_so():
    square = "!tile.buffer<f32, [2, 2], [2, 1]>"
    flat, half = "!tile.buffer<f32, [4], [1]>", "!tile.buffer<f32, [2], [1]>"
    program = build(
        f"""
        %0 = "host.extern"(%x) {{op = "aten.clone.default",
          args = [{{operand = 0 : i64}}], kwargs = {{}}}} : ({square}) -> {square}
        %1 = "host.view"(%0) {{offset = 0 : i64}} : ({square}) -> {flat}
        %2 = "host.view"(%1) {{offset = 2 : i64}} : ({flat}) -> {half}
        "host.return"(%1, %2) {{views = array<i64: 1>}} : ({flat}, {half}) -> ()
        """,
        arguments=f"%x: {square}",
        results=f"{flat}, {half}",
    )
    x = torch.randn(2, 2)
    whole, part = program(x)
    assert whole._base is None and part._base is whole
    assert torch.equal(whole, x.view(-1)) and torch.equal(part, x[1])
    part.zero_()
    assert whole._version == 1


def test_copies_write_into_inputs():
    program = build(
        f'"host.copy"(%y, %x) : ({F4}, {F4}) -> () "host.return"() : () -> ()',
        arguments=f"%x: {F4}, %y: {F4}",
    )
    x, y = torch.zeros(4), torch.randn(4)
    assert program(x, y) == ()
    assert torch.equal(x, y) and x._version == 1


def test_kernels_that_write_inputs_bump_their_versions():
    native = Native(double, [4, 4])
    program = build(
        f'{launch("%y, %x", f"{F4}, {F4}")} "host.return"() : () -> ()',
        [native],
        arguments=f"%x: {F4}, %y: {F4}",
    )
    x, y = torch.zeros(4), torch.randn(4)
    program(x, y)
    assert torch.equal(x, 2 * y) and (x._version, y._version) == (1, 0)


def test_workspace_holds_intermediates():
    def triple(x, intermediate, y):
        y.copy_(intermediate.copy_(3 * x))

    native = Native(triple, [4, 4, 4])
    both = f"""
      "host.launch"(%x, %1) {{
        kernel = @k0, outputs = 1, symbols = []}} : ({F4}, {F4}) -> ()
      "host.launch"(%1, %0) {{
        kernel = @k1, outputs = 1, symbols = []}} : ({F4}, {F4}) -> ()
    """
    program = build(
        f"""
        %0 = "host.alloc"() : () -> {F4}
        "host.workspace"() {{bytes = 128 : i64}} : () -> ()
        %1 = "host.alloc"() {{workspace_offset = 64 : i64}} : () -> {F4}
        "host.native"() ({{ {both} }}) {{function = @run0}} : () -> ()
        "host.workspace"() {{bytes = 0 : i64}} : () -> ()
        "host.return"(%0) : ({F4}) -> ()
        """,
        [native],
        arguments=f"%x: {F4}",
        results=F4,
    )
    x = torch.randn(4)
    assert torch.equal(program(x)[0], 3 * x)
    ((_, intermediate, _), _) = native.calls[0]
    assert intermediate % 64 == 0
    assert program.workspace_bytes == 128
    assert (program.kernels, program.launches) == (2, 2)


def test_failed_checks_run_the_fallback():
    native = Native(lambda x: False, [4])
    program = build(
        f'{launch("%x", F4)} "host.return"() : () -> ()',
        [native],
        arguments=f"%x: {F4}",
        fallback=lambda kind, x: (kind, x),
    )
    x = torch.randn(4)
    assert program(x) == ("kernel check", x)


def test_generated_code_lives_as_long_as_the_program():
    native = Native(torch.Tensor.zero_, [4])
    watch = weakref.ref(native)
    program = build(
        f'{launch("%x", F4)} "host.return"() : () -> ()',
        [native],
        arguments=f"%x: {F4}",
    )
    del native
    gc.collect()
    assert watch() is not None
    program(torch.zeros(4))
    del program
    gc.collect()
    assert watch() is None


def test_unknown_aten_ops_are_named():
    body = f"""
    %0 = "host.extern"(%x) {{op = "aten.nothing.default",
          args = [], kwargs = {{}}}}
      : ({F4}) -> {F4}
    """
    with pytest.raises(LookupError, match=r"no operator aten\.nothing\.default"):
        build(body, arguments=f"%x: {F4}")
