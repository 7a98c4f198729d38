"""Models from transformers, small, through both doors and with changing sizes."""

import pytest
import torch

import girih
from benchmarks.agreement import difference
from benchmarks.model_table import MODELS

TINY = {
    "bert-base": {
        "hidden_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "intermediate_size": 128,
        "vocab_size": 30522,
    },
    "gpt2": {"n_embd": 64, "n_layer": 2, "n_head": 4},
}
TOLERANCE = 1e-4


@pytest.fixture(params=TINY)
def tiny(request):
    with torch.no_grad():
        yield MODELS[request.param].build(**TINY[request.param])


def fresh_inputs(inputs, tokens, batch=1):
    ids = inputs["input_ids"][:, :tokens].repeat(batch, 1)
    return {"input_ids": ids, "attention_mask": torch.ones_like(ids)}


def test_girih_compile(tiny):
    model, inputs = tiny
    compiled = girih.compile(model, fullgraph=True, options={"fallback": False})
    actual, expected = compiled(**inputs), model(**inputs)
    assert type(actual) is type(expected)
    assert difference(actual, expected) < TOLERANCE
    (report,) = girih.report(compiled).graphs
    assert report.kernels > 2 and report.fallback is None


def test_behind_torch_compile(tiny):
    model, inputs = tiny
    torch.compiler.reset()
    before = len(girih.report().graphs)
    compiled = torch.compile(model, backend="girih", options={"fallback": False})
    assert difference(compiled(**inputs), model(**inputs)) < TOLERANCE
    assert len(girih.report().graphs) > before


def test_other_values_use_the_same_code(tiny):
    model, inputs = tiny
    compiled = girih.compile(model, fullgraph=True)
    compiled(**inputs)
    other = {**inputs, "input_ids": inputs["input_ids"].flip(1)}
    assert difference(compiled(**other), model(**other)) < TOLERANCE
    assert len(girih.report(compiled).graphs) == 1


def test_changing_sizes(tiny):
    model, inputs = tiny
    compiled = girih.compile(model, dynamic=True)
    for tokens, batch in ((128, 1), (17, 1), (64, 3), (5, 2)):
        sized = fresh_inputs(inputs, tokens, batch)
        assert difference(compiled(**sized), model(**sized)) < TOLERANCE


def test_padding_mask(tiny):
    model, inputs = tiny
    mask = inputs["attention_mask"].clone()
    mask[:, 100:] = 0
    padded = {**inputs, "attention_mask": mask}
    compiled = girih.compile(model)
    actual, expected = compiled(**padded), model(**padded)
    assert difference(actual[0][:, :100], expected[0][:, :100]) < TOLERANCE
