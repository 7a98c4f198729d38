"""Pipelines of programs for a GPU whose results are found on disk."""

import pytest
import torch

import girih


def program(x, y):
    return torch.softmax(x @ y, -1).sum(0) + (x * y).exp().mean()


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("mode", ["default", "reduce-overhead"])
def test_a_second_process_runs_no_pass(device, dynamic, mode, tmp_path, monkeypatch):
    monkeypatch.setenv("GIRIH_CACHE_DIR", str(tmp_path))
    x, y = (torch.randn(8, 8, requires_grad=True) for _ in range(2))
    found = []
    for _ in range(2):
        compiled = girih.compile(program, dynamic=dynamic, mode=mode)
        result = compiled(x, y)
        gradients = torch.autograd.grad(result.sum(), (x, y))
        (graph,) = girih.report(compiled).graphs
        reports = list(graph.and_derived())
        found.append((result, gradients, [r.events for r in reports], reports))
        girih.reset()
    assert device.launched
    first, second = found
    assert torch.equal(first[0], second[0])
    assert all(map(torch.equal, first[1], second[1]))
    assert first[2] == second[2]
    stages = {"derivatives", "fusions", "gpu-host", "ttir", "gpu"}
    ran = [stages & report.stage_seconds.keys() for report in first[3]]
    assert all(len(each) > 1 for each in ran), first[3]
    assert not any(stages & report.stage_seconds.keys() for report in second[3])


def test_aot_compile_on_a_gpu(device, tmp_path, monkeypatch):
    x, y = torch.randn(8, 8), torch.randn(8, 8)
    compiled = girih.compile(program, fullgraph=True)
    made = compiled.aot_compile(((x, y), {}))
    made.save_compiled_function(tmp_path / "f.girih")
    monkeypatch.setenv("GIRIH_CACHE_DIR", str(tmp_path / "cache"))
    girih.reset()
    loaded = girih.load_compiled_function(tmp_path / "f.girih")
    assert torch.equal(loaded(x, y), made(x, y))
    with pytest.raises(girih.RecompileError):
        loaded(x[:4], y)
