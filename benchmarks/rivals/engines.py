"""What runs a network: a function from a name's module and input to a call."""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor, nn

from benchmarks.rivals.networks import use_packages

Call = Callable[[], object]


def _eager(module: nn.Module, x: Tensor) -> Call:
    return lambda: module(x)


def _inductor(module: nn.Module, x: Tensor) -> Call:
    compiled = torch.compile(module, dynamic=False)
    return lambda: compiled(x)


def _inductor_frozen(module: nn.Module, x: Tensor) -> Call:
    from torch._inductor import config

    config.freezing = True
    return _inductor(module, x)


def _girih(module: nn.Module, x: Tensor) -> Call:
    import girih

    compiled = girih.compile(module, dynamic=False, options={"fallback": False})
    return lambda: compiled(x)


def _girih_frozen(module: nn.Module, x: Tensor) -> Call:
    import girih

    options = {"fallback": False, "freezing": True}
    compiled = girih.compile(module, dynamic=False, options=options)
    return lambda: compiled(x)


def _exported(module: nn.Module, x: Tensor, folder: str) -> Path:
    """The network as ONNX."""
    use_packages()
    path = Path(folder, "network.onnx")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(module, (x,), path, dynamo=True, verbose=False)
    return path


def _openvino(module: nn.Module, x: Tensor) -> Call:
    use_packages()
    import openvino

    # It gets float32 and computes in bfloat16 where that is asked for.
    is_narrow = _is_narrow(module)
    module, x = module.float(), x.float() if x.is_floating_point() else x
    with tempfile.TemporaryDirectory() as folder:
        model = openvino.Core().read_model(_exported(module, x, folder))
        settings = {
            "PERFORMANCE_HINT": "LATENCY",
            "INFERENCE_NUM_THREADS": torch.get_num_threads(),
            # By default it computes float32 in bfloat16 where that is faster.
            "INFERENCE_PRECISION_HINT": "bf16" if is_narrow else "f32",
        }
        compiled = openvino.Core().compile_model(model, "CPU", settings)
        request = compiled.create_infer_request()
        request.set_input_tensor(openvino.Tensor(x.numpy(), shared_memory=True))

    def call():
        request.infer()
        return torch.from_numpy(request.get_output_tensor(0).data)

    return call


def _onnxruntime(module: nn.Module, x: Tensor) -> Call:
    use_packages()
    import onnxruntime

    if _is_narrow(module):
        raise NotImplementedError("ONNX Runtime has no bfloat16 on CPUs")
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = torch.get_num_threads()
    with tempfile.TemporaryDirectory() as folder:
        path = _exported(module, x, folder)
        session = onnxruntime.InferenceSession(
            os.fspath(path), settings, providers=["CPUExecutionProvider"]
        )
    (name,) = (given.name for given in session.get_inputs())
    given = {name: x.numpy()}
    return lambda: torch.from_numpy(session.run(None, given)[0])


def _is_narrow(module: nn.Module) -> bool:
    return next(module.parameters()).dtype != torch.float32


ENGINES: dict[str, Callable[[nn.Module, Tensor], Call]] = {
    "eager": _eager,
    "inductor": _inductor,
    "inductor-frozen": _inductor_frozen,
    "openvino": _openvino,
    "onnxruntime": _onnxruntime,
    "girih": _girih,
    "girih-frozen": _girih_frozen,
}
"""Names that begin with girih are ours, the others are what they are held against."""
