"""The benchmark of decoding, with tiny models."""

import json
import re
from dataclasses import asdict

import pytest
import torch

from benchmarks.decode import __main__ as command
from benchmarks.decode import llama, report, traffic, worker
from benchmarks.decode.generating import SKIPPED, Generator
from benchmarks.decode.models import ALL, MODELS

SHAPE = llama.Shape(64, 2, 4, 2, 128, 128)
COUNT = SKIPPED + 2


@pytest.fixture(autouse=True)
def _no_fallback(monkeypatch):
    monkeypatch.setenv("GIRIH_FALLBACK", "0")


def _tiny(name, **settings):
    engines = ("eager", "girih-reduce-overhead")
    return worker.Case(
        name, tokens=COUNT, rounds=2, engines=engines, tiny=True, **settings
    )


def _generator(name, batch=1):
    decoder = ALL[name]
    model = decoder.build("cpu", torch.float32, tiny=True)
    prompt = decoder.make_prompt(model, batch, 5)
    return Generator(decoder, model, model.forward, prompt)


@pytest.mark.parametrize(
    "name, dtype, batch",
    [
        ("llama", "float32", 1),
        ("t5", "float32", 2),
        ("mamba", "bfloat16", 1),  # its logits are float32
        ("plain-llama", "bfloat16", 2),
        ("plain-llama-int8", "float32", 1),
    ],
)
def test_row_of_a_model(name, dtype, batch):
    if not name.startswith("plain"):
        pytest.importorskip("transformers")
    row = worker.run_case(_tiny(name, dtype=dtype, batch=batch))
    # The prompt's, and that of all tokens after it.
    assert row.graphs == {"girih-reduce-overhead": 2}
    for times in (row.token, row.forward, row.first, row.second):
        assert all(seconds > 0 for seconds in times.values())
    rows = [json.loads(json.dumps(asdict(row)))]
    assert name in report.text_table(rows)
    assert name in report.short_table(rows).splitlines()[-1]
    assert "girih over eager: geometric mean" in report.ratios(rows)


def test_profile_of_a_step(monkeypatch):
    case = _tiny("plain-llama", profile=True)
    text = report.profile_table(asdict(worker.run_case(case)))
    assert "byte limit" in text and "llama.py" in text
    assert re.search(r"k\d+_\w*sum", text)


def test_wrong_logits_are_noticed():
    right = [torch.tensor([[1.0, 2.0]]), torch.tensor([[3.0, 1.0]])]
    other_token = [torch.tensor([[2.0, 1.0]]), torch.tensor([[3.0, 1.0]])]
    assert worker._check("same", right, right, 0.0) == 0
    with pytest.raises(AssertionError, match="other differs by"):
        worker._check("other", other_token, right, 0.1)


def test_a_plain_llama_decodes_what_it_computes_at_once():
    torch.manual_seed(0)
    model = llama.Llama(SHAPE).eval()
    prompt = torch.randint(128, (2, 5))
    with torch.no_grad():
        tokens = model.generate(prompt, 4)
        for length in range(5, 9):
            cache = model.make_cache(2, length)
            logits = model(tokens[:, :length], torch.arange(length), cache)
            assert torch.equal(logits.argmax(-1), tokens[:, length])


def test_int8_weights_are_close():
    linear = torch.nn.Linear(64, 32, bias=False)
    x = torch.randn(3, 64)
    assert torch.allclose(llama.Int8Linear(linear)(x), linear(x), atol=0.02)


def test_bytes_of_a_step():
    """Weights once, without embeddings' other rows, and the whole cache."""
    one = _generator("plain-llama")
    args, kwargs = one.step(COUNT)
    weights, caches = traffic.bytes_of_step(one.model, one.forward, args, kwargs)
    size = 4 * sum(x.numel() for x in one.model.parameters())
    rows_of_embedding = 128 - 1
    frequencies = 4 * 16 // 2
    assert weights == size - 4 * 64 * rows_of_embedding + frequencies
    assert caches == 4 * 2 * 2 * (2 * (5 + COUNT) * 16)


def test_bytes_of_experts_that_are_not_used():
    pytest.importorskip("transformers")
    one = _generator("mixtral")
    args, kwargs = one.step(COUNT)
    weights, _ = traffic.bytes_of_step(one.model, one.forward, args, kwargs)
    size = 4 * sum(x.numel() for x in one.model.parameters())
    experts = 4 * sum(
        x.numel() for name, x in one.model.named_parameters() if "experts" in name
    )
    assert weights < size - experts / 2


def test_options_of_the_command(capsys):
    parsed = command.parser().parse_args(["--model", "gpt2,llama-1b", "--batch", "4"])
    found = command.cases(parsed)
    assert [(case.model, case.batch) for case in found] == [
        ("gpt2", 4),
        ("llama-1b", 4),
    ]
    assert "inductor-reduce-overhead" not in found[0].engines
    on_gpu = command.cases(command.parser().parse_args(["--device", "cuda"]))
    assert on_gpu[0].engines == tuple(worker.ENGINES)
    assert len(on_gpu) == 2 * len(MODELS)
    for wrong in (["--model", "none"], ["--tokens", "3"], ["--dtype", "int8"]):
        with pytest.raises(SystemExit):
            command.main(wrong)
    assert "known: llama" in capsys.readouterr().err


def test_the_command_writes_after_each_model(tmp_path, monkeypatch, capsys):
    def in_a_process(case):
        if case.model == "gpt2":
            raise RuntimeError("no memory")
        row = worker.Row(case, bandwidth=1e9, weight_bytes=1000)
        for times in (row.token, row.first, row.second, row.peak, row.difference):
            times.update(dict.fromkeys(case.engines, 1e-3))
        return asdict(row)

    monkeypatch.setattr(command, "_in_a_process", in_a_process)
    stem = tmp_path / "decode"
    given = ["--models", "llama,gpt2", "--batch", "1", "--output", str(stem)]
    assert command.main(given) == 1
    printed = capsys.readouterr()
    assert "gpt2, batch 1, float32: no memory" in printed.err
    assert "1000" in printed.out
    assert len(json.loads(stem.with_suffix(".json").read_text())["rows"]) == 1
