"""What runs in the fresh processes of the benchmarks; prints one line of JSON.

``python -m benchmarks.worker imports torch girih`` times imports,
``... first-call ENGINE`` the first call of a pointwise function,
``... compile MODEL ENGINE`` the first and later calls of a model,
``... train CASE ENGINE`` the first and later steps of a training and their memory,
``... capture MODEL ENGINE`` the capture of a model by girih or TorchDynamo.
"""

import json
import sys
import time


def time_imports(*names: str) -> dict[str, float]:
    """Seconds that importing the modules takes, in all."""
    start = time.perf_counter()
    for name in names:
        __import__(name)
    return {"seconds": time.perf_counter() - start}


def time_first_call(engine: str) -> dict[str, float]:
    """Seconds of ten elementwise operations, after torch and girih were imported.

    ``made`` is until ``compile`` has returned, which loads the compiler, ``first``
    until the first call has, ``second`` that of a second call alone.
    """
    import torch

    import girih  # noqa: F401 - as a program does at its top
    from benchmarks.cases import chain
    from benchmarks.engines import ENGINES

    x = torch.randn(1000)
    with torch.no_grad():
        start = time.perf_counter()
        function = ENGINES[engine](chain)
        made = time.perf_counter()
        function(x)
        first = time.perf_counter()
        function(x)
        return {
            "made": made - start,
            "first": first - start,
            "second": time.perf_counter() - first,
        }


def time_compile(model: str, engine: str) -> dict[str, float]:
    """Seconds of the first call of a model, and the least of five later ones."""
    import torch

    from benchmarks.engines import ENGINES
    from benchmarks.model_table import MODELS

    module, inputs = MODELS[model].build()
    with torch.no_grad():
        module(**inputs)
        start = time.perf_counter()
        compiled = ENGINES[engine](module)
        compiled(**inputs)
        first = time.perf_counter() - start
        later = min(_seconds(compiled, inputs) for _ in range(5))
    return {"first": first, "later": later}


def time_training(case: str, engine: str) -> dict[str, float]:
    """Seconds of the first step, the least of later ones, and a step's peak bytes."""
    import statistics

    from benchmarks import memory
    from benchmarks.engines import ENGINES
    from benchmarks.training_cases import CASES, Training
    from girih.codegen.runtime import release_memory

    memory.return_freed_memory()
    training = Training(CASES[case], ENGINES["eager"])
    training.step()
    training = Training(CASES[case], ENGINES[engine])
    first, *later = (_seconds(training.step, {}) for _ in range(6))
    peaks = []
    for _ in range(3):
        training.drop_gradients()
        # What girih keeps between calls belongs to the steps.
        release_memory()
        peaks.append(memory.peak_of(training.step))
    return {"first": first, "later": min(later), "peak": statistics.median(peaks)}


def time_capture(model: str, engine: str) -> dict[str, float]:
    """Seconds of the first capture, the least of three later ones, and of a call."""
    import torch
    import torch._dynamo

    import girih
    import girih.frontend.capture.api  # loading it is not part of the capture
    from benchmarks.capture_models import CAPTURED
    from benchmarks.guard_cost import CAPTURES

    reset = girih.reset if engine == "girih" else torch._dynamo.reset
    torch.manual_seed(0)
    module, inputs = CAPTURED[model]()
    with torch.no_grad():
        module.eval()(**inputs)
        captured = CAPTURES[engine](module, "eager")
        cold = _seconds(captured, inputs)
        call = min(_seconds(captured, inputs) for _ in range(5))
        warm = []
        for _ in range(3):
            reset()
            warm.append(_seconds(captured, inputs))
    return {"cold": cold - call, "warm": min(warm) - call, "calls": call}


def _seconds(function, inputs) -> float:
    start = time.perf_counter()
    function(**inputs)
    return time.perf_counter() - start


TASKS = {
    "capture": time_capture,
    "compile": time_compile,
    "first-call": time_first_call,
    "imports": time_imports,
    "train": time_training,
}

if __name__ == "__main__":
    print(json.dumps(TASKS[sys.argv[1]](*sys.argv[2:])))
