"""``generate()`` of transformers' models with a compiled forward: eager's tokens.

Each decoded token is one graph. With a static cache one graph serves all of them; with
a cache that grows the second token has the graph of all that follow.
"""

from __future__ import annotations

import inspect

import pytest
import torch

import girih

transformers = pytest.importorskip("transformers")

NEW_TOKENS = 6
SIZES = {
    **{"hidden_size": 64, "d_model": 64, "n_embd": 64, "word_embed_proj_dim": 64},
    **{"num_hidden_layers": 2, "n_layer": 2, "num_layers": 2, "num_decoder_layers": 2},
    **{"encoder_layers": 2, "decoder_layers": 2, "num_heads": 4, "n_head": 4},
    **{"num_attention_heads": 4, "encoder_attention_heads": 4},
    **{"decoder_attention_heads": 4, "head_dim": 16, "d_kv": 16, "state_size": 8},
    **{"intermediate_size": 128, "ffn_dim": 128, "d_ff": 128, "encoder_ffn_dim": 128},
    **{"decoder_ffn_dim": 128, "num_local_experts": 4, "num_experts_per_tok": 2},
    **{"vocab_size": 128, "max_position_embeddings": 128, "sliding_window": 64},
    **{"num_mel_bins": 16, "max_source_positions": 32, "max_target_positions": 64},
    **{"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": None},
}
# Settings of one kind of model besides the sizes.
MODELS = {
    "bloom": {},
    "falcon": {},
    "gemma2": {"num_key_value_heads": 2},
    "gemma3_text": {
        "num_key_value_heads": 2,
        "layer_types": ["sliding_attention", "full_attention"],
    },
    "gpt2": {},
    "gpt_neox": {},
    "llama": {"num_key_value_heads": 2},
    "mamba": {},
    "mistral": {"num_key_value_heads": 2},
    "mixtral": {"num_key_value_heads": 2},
    "opt": {},
    "qwen3": {"num_key_value_heads": 2},
    "t5": {"decoder_start_token_id": 0},
    "whisper": {"decoder_start_token_id": 1, "begin_suppress_tokens": None},
}
GROWING = ("gpt2", "llama", "t5")
CASES = [
    *((name, "static") for name in MODELS),
    *((name, "dynamic") for name in GROWING),
]
AUTO = {
    "t5": transformers.AutoModelForSeq2SeqLM,
    "whisper": transformers.AutoModelForSpeechSeq2Seq,
}


def build(name, **settings):
    """A model with random weights, alike at each call."""
    torch.manual_seed(0)
    kind = transformers.AutoConfig.for_model(name)
    computed = [name for name, of in vars(type(kind)).items() if type(of) is property]
    fields = [field for field in SIZES if hasattr(kind, field)]
    sizes = {field: SIZES[field] for field in fields if field not in computed}
    config = type(kind)(**{**sizes, **MODELS[name], **settings})
    model = AUTO.get(name, transformers.AutoModelForCausalLM).from_config(config)
    model.generation_config.eos_token_id = None
    return model.eval()


def generate(model, batch=1, **options):
    """Tokens that a model makes of the same prompt and seed."""
    torch.manual_seed(1)
    options = {"max_new_tokens": NEW_TOKENS, "do_sample": False, **options}
    if model.config.model_type == "whisper":
        features = torch.randn(batch, 16, 64)
        return transformers.GenerationMixin.generate(model, features, **options)
    prompt = torch.randint(2, 128, (batch, 5))
    return model.generate(prompt, attention_mask=torch.ones_like(prompt), **options)


def compiled(name, **settings):
    """The model with a compiled forward, and the number of graphs after each call.

    The list is empty, and grows as the model generates.
    """
    model, captured = build(name, **settings), []
    forward = girih.compile(model.forward, fullgraph=True, options={"fallback": False})

    def counting(*args, **kwargs):
        outputs = forward(*args, **kwargs)
        captured.append(len(girih.report(forward).graphs))
        return outputs

    counting.__signature__ = inspect.signature(model.forward)
    model.forward = counting
    return model, captured


@pytest.mark.whole
@pytest.mark.parametrize("name, cache", CASES)
def test_no_compilation_after_the_second_token(name, cache):
    expected = generate(build(name), cache_implementation=cache)
    model, captured = compiled(name)
    assert torch.equal(generate(model, cache_implementation=cache), expected)
    # The prompt, the first token with a filled cache, and those that follow.
    assert captured == [1, 2] + [2 if cache == "static" else 3] * (NEW_TOKENS - 2)


@pytest.mark.parametrize("options", [{"do_sample": True}, {"num_beams": 2}], ids=str)
def test_sampling_and_beams(options):
    options = {**options, "batch": 3, "cache_implementation": "static"}
    expected = generate(build("llama"), **options)
    model, captured = compiled("llama")
    assert torch.equal(generate(model, **options), expected)
    assert captured[1] == captured[-1] == 2


@pytest.mark.parametrize("name", ["mistral"])
def test_a_window_that_fills_up(name):
    """Beyond the window, the layout of the cache and its length are others once."""
    expected = generate(build(name, sliding_window=8), max_new_tokens=12)
    model, captured = compiled(name, sliding_window=8)
    assert torch.equal(generate(model, max_new_tokens=12), expected)
    # Full after the fourth token: one graph for that, and one for all that follow.
    assert captured[4] == captured[-1] <= 5
