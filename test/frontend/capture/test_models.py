"""Models of transformers (random weights), each captured in one graph."""

import pytest
import torch
from capture_differential import assert_same, compile_eagerly

import girih

transformers = pytest.importorskip("transformers")

SMALL = {
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "vocab_size": 100,
}


def tokens():
    return torch.randint(0, 100, (2, 16), generator=torch.Generator().manual_seed(0))


def image():
    return torch.randn(1, 3, 32, 32, generator=torch.Generator().manual_seed(0))


def bert():
    config = transformers.BertConfig(**SMALL)
    return transformers.BertModel(config), {"input_ids": tokens()}


def bert_with_loss():
    config = transformers.BertConfig(**SMALL)
    inputs = {"input_ids": tokens(), "labels": torch.tensor([0, 1])}
    inputs["attention_mask"] = torch.ones_like(inputs["input_ids"])
    return transformers.BertForSequenceClassification(config), inputs


def gpt2():
    config = transformers.GPT2Config(n_layer=2, n_embd=32, n_head=2, vocab_size=100)
    return transformers.GPT2LMHeadModel(config), {"input_ids": tokens()}


def gpt2_without_cache():
    model, inputs = gpt2()
    return model, {**inputs, "use_cache": False}


def gpt2_with_loss():
    return with_loss(gpt2)


def llama():
    config = transformers.LlamaConfig(**SMALL, num_key_value_heads=2)
    return transformers.LlamaForCausalLM(config), {"input_ids": tokens()}


def opt():
    sizes = {"ffn_dim": 64, "word_embed_proj_dim": 32, "max_position_embeddings": 64}
    names = ("hidden_size", "num_hidden_layers", "num_attention_heads", "vocab_size")
    sizes |= {name: SMALL[name] for name in names}
    return transformers.OPTForCausalLM(transformers.OPTConfig(**sizes)), {
        "input_ids": tokens()
    }


def with_loss(make):
    """The same model, which also computes its loss."""
    model, inputs = make()
    return model, {**inputs, "labels": inputs["input_ids"]}


def opt_with_loss():
    return with_loss(opt)


def llama_with_loss():
    return with_loss(llama)


def vit_with_loss():
    sizes = {name: size for name, size in SMALL.items() if name != "vocab_size"}
    config = transformers.ViTConfig(**sizes, image_size=32, patch_size=8)
    inputs = {"pixel_values": image(), "labels": torch.tensor([1])}
    return transformers.ViTForImageClassification(config), inputs


def resnet_with_loss():
    model, inputs = resnet()
    return model, {**inputs, "labels": torch.tensor([1])}


def vit():
    sizes = {name: size for name, size in SMALL.items() if name != "vocab_size"}
    config = transformers.ViTConfig(**sizes, image_size=32, patch_size=8)
    return transformers.ViTModel(config), {"pixel_values": image()}


def resnet():
    config = transformers.ResNetConfig(
        embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1]
    )
    model = transformers.ResNetForImageClassification(config)
    return model, {"pixel_values": image()}


MODELS = (
    bert,
    bert_with_loss,
    gpt2,
    gpt2_without_cache,
    gpt2_with_loss,
    llama,
    llama_with_loss,
    opt,
    opt_with_loss,
    vit,
    vit_with_loss,
    resnet,
    resnet_with_loss,
)


def assert_same_output(actual, expected):
    assert type(actual) is type(expected)
    assert list(actual) == list(expected)
    for name, value in expected.items():
        if isinstance(value, torch.Tensor):
            assert_same(actual[name], value)
        else:
            assert type(actual[name]) is type(value)


@pytest.mark.whole
@pytest.mark.parametrize("make", MODELS, ids=lambda make: make.__name__)
def test_in_one_graph(make):
    torch.manual_seed(0)
    model, inputs = make()
    compiled = compile_eagerly(model.eval())
    for _ in range(2):
        with torch.no_grad():
            assert_same_output(compiled(**inputs), model(**inputs))
    assert_same_output(compiled(**inputs), model(**inputs))
    # One for each grad mode, and one more where the first call changes the config.
    assert compiled.girih_call.cache_statistics()["captures"] <= 3


def test_training_step():
    torch.manual_seed(0)
    model, inputs = gpt2_with_loss()
    compiled = compile_eagerly(model.train())
    gradients = []
    for function in (compiled, model):
        model.zero_grad()
        torch.manual_seed(1)
        function(**inputs).loss.backward()
        gradients.append([p.grad.clone() for p in model.parameters()])
    assert_same(*gradients)


def test_sizes_that_vary():
    torch.manual_seed(0)
    model, _ = bert()
    compiled = compile_eagerly(model.eval())
    with torch.no_grad():
        for length in (5, 9, 12, 7):
            ids = torch.randint(0, 100, (1, length))
            expected = model(input_ids=ids)
            actual = compiled(input_ids=ids)
            torch.testing.assert_close(actual[0], expected[0])
    assert compiled.girih_call.cache_statistics()["captures"] <= 2


@pytest.mark.parametrize("backend", ["eager", "girih"])
@pytest.mark.parametrize("make", [gpt2, llama], ids=lambda make: make.__name__)
def test_generate(make, backend):
    torch.manual_seed(0)
    model, _ = make()
    ids = torch.randint(3, 100, (1, 5))
    options = {"max_new_tokens": 8, "do_sample": False, "pad_token_id": 0}
    options["attention_mask"] = torch.ones_like(ids)
    expected = model.eval().generate(ids, **options)
    compiled = girih.compile(model, backend=backend)
    for _ in range(2):
        assert torch.equal(compiled.generate(ids, **options), expected)
    # Prefill, the first step, and one for all the steps that follow.
    assert compiled.girih_call.cache_statistics()["captures"] <= 4


def test_the_loop_of_generate_is_compiled_with_breaks():
    torch.manual_seed(0)
    model, _ = gpt2()
    ids = torch.randint(3, 100, (1, 5))
    options = {"max_new_tokens": 8, "do_sample": False, "pad_token_id": 0}
    options["attention_mask"] = torch.ones_like(ids)
    expected = model.eval().generate(ids, **options)
    compiled = girih.compile(model.generate, backend="eager")
    for _ in range(2):
        assert torch.equal(compiled(ids, **options), expected)
