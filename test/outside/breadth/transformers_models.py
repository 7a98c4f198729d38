"""Models of transformers: each with the configuration of its kind, made small."""

from __future__ import annotations

from typing import Any

import transformers

from breadth.model import BATCHES, Call, Model, integers, normal

NAMES = tuple(
    """
afmoe aimv2_vision_model albert apertus arcee aria_text bart beam beit bert
bert-generation big_bird bigbird_pegasus biogpt bit bitnet blenderbot blenderbot-small
bloom camembert canine chinese_clip_vision_model clip_text_model clip_vision_model
codegen cohere cohere2 cohere2_moe conditional_detr convbert cosmos3_edge_text cpmant
ctrl cvt cwm dab-detr data2vec-audio data2vec-text data2vec-vision deberta deberta-v2
deepseek_v4 deformable_detr deit detr diffllama dinov2 dinov2_with_registers
dinov3_vit distilbert doge dpr dpt electra ernie ernie4_5 ernie4_5_moe eurobert
exaone4 exaone_moe falcon fastspeech2_conformer flaubert flex_olmo flint fnet fsmt
gemma gemma2 gemma3_text glm glm4 glm4_moe glpn gpt-sw3 gpt2 gpt_bigcode gpt_neo
gpt_neox gpt_neox_japanese gpt_oss gptj gradium_phonon_tts granite
granite_docling_text granite_swa granitemoe granitemoe_swa granitemoeshared gte helium
hgnet_v2 higgs_audio_v2 hubert hy_v3 hyperclovax ibert ijepa imagegpt inkling2_text
inkling_text internlm3 internvl_vision iquestcoder jais2 jetmoe jina_embeddings_v3
kolibri1 laguna layoutlm led levit lfm2 lfm3 llama llama4_text longformer longt5 luke
m2m_100 marian markuplm maskformer-swin mbart megatron-bert mellum mgp-str
mimo_v2_flash minimax minimax_m2 minimax_m3_vl_text ministral3 mistral mixtral mlcd
mlcd_vision_model mobilebert mobilenet_v1 mobilenet_v2 mobilevit mobilevitv2
modernbert modernbert-decoder molmo2_text moshi mpnet mpt mra mt5 muse_glimmer_text
muse_spark_text mvp nanochat nemotron_asr_streaming_encoder nllb-moe nomic_bert
nystromformer olmo olmo2 olmo3 olmoe openai-gpt openai_privacy_filter opt
parakeet_encoder pegasus pegasus_x persimmon phi phi3 phimoe pixio pixtral plbart
pocket_tts poolformer pp_ocrv5_server_rec pp_ocrv6_small_rec pp_ocrv6_tiny_rec
prophetnet pvt pvt_v2 qianfan_ocr_vision qwen2 qwen2_moe qwen3 qwen3_moe qwen3_next
recurrent_gemma reformer regnet rembert resnet roberta roc_bert roformer rwkv
segformer siglip_text_model smollm3 squeezebert stablelm starcoder2 swin swinv2 t5 vit
vit_mae wav2vec2 wavlm xglm xlm xlnet xmod yolos yoso zamba
""".split()
)

SMALL: dict[str, Any] = {
    **dict.fromkeys(("hidden_size", "d_model", "n_embd", "embedding_size"), 64),
    **dict.fromkeys(("emb_dim", "dim", "lru_width"), 64),
    **dict.fromkeys(("num_hidden_layers", "n_layer", "n_layers", "num_layers"), 2),
    **dict.fromkeys(("encoder_layers", "decoder_layers"), 2),
    **dict.fromkeys(("num_attention_heads", "n_head", "n_heads", "num_heads"), 4),
    **dict.fromkeys(("encoder_attention_heads", "decoder_attention_heads"), 4),
    **dict.fromkeys(("intermediate_size", "d_ff", "d_inner", "ffn_hidden_size"), 128),
    **dict.fromkeys(("encoder_ffn_dim", "decoder_ffn_dim", "hidden_dim"), 128),
    **dict.fromkeys(("max_position_embeddings", "n_positions"), 128),
    **dict.fromkeys(("num_local_experts", "n_routed_experts", "num_experts"), 4),
    **dict.fromkeys(("head_dim", "d_kv", "qk_nope_head_dim", "v_head_dim"), 16),
    **dict.fromkeys(("qk_rope_head_dim", "state_size", "mamba_d_state"), 16),
    **dict.fromkeys(("block_size", "sliding_window"), 16),
    **dict.fromkeys(("attention_window", "attention_window_size"), 16),
    **dict.fromkeys(("q_lora_rank", "kv_lora_rank"), 32),
    **dict.fromkeys(("moe_intermediate_size", "shared_expert_intermediate_size"), 64),
    "vocab_size": 1000,
    "num_key_value_heads": 2,
    "num_experts_per_tok": 2,
    "n_group": 2,
    "topk_group": 1,
    "num_attention_heads_per_layer": 4,
    "rotary_dim": 8,
    "num_random_blocks": 1,
    "conv_kernel_size": 9,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "decoder_start_token_id": 0,
}
"""Where a configuration has the field, and it holds a number."""

SPECIAL: dict[str, dict[str, Any]] = {
    "gpt_neo": {
        "attention_types": [[["global", "local"], 1]],
        "attention_layers": ["global", "local"],
    },
    "longformer": {"attention_window": [16, 16]},
    "reformer": {
        "attn_layers": ["local", "lsh"],
        "axial_pos_embds_dim": (32, 32),
        "axial_pos_shape": (8, 8),
        "feed_forward_size": 128,
        "num_buckets": 2,
    },
}
LENGTHS = {"reformer": ((2, 64), (3, 64), (4, 64))}


def build(name: str) -> Model:
    """The bare model of a kind, as ``AutoModel`` makes it."""
    configuration = _configuration(name)
    module = transformers.AutoModel.from_config(configuration)
    kind = module.main_input_name
    if kind == "pixel_values":
        return Model(module, _images(configuration), [(1, 0), (2, 0), (3, 0)])
    if kind in ("input_values", "input_features"):
        return Model(module, _sounds(kind, configuration), [(1, 4), (2, 4), (2, 5)])
    return Model(module, _texts(kind, configuration), LENGTHS.get(name, BATCHES))


def _configuration(name: str) -> Any:
    configuration = transformers.AutoConfig.for_model(name)
    for field, value in SMALL.items():
        if isinstance(getattr(configuration, field, None), int):
            _set(configuration, field, value)
    if getattr(configuration, "layer_types", None):
        configuration.layer_types = list(configuration.layer_types)[:2]
    for field, value in SPECIAL.get(name, {}).items():
        setattr(configuration, field, value)
    return configuration


def _set(configuration: Any, field: str, value: Any) -> None:
    """Sets a field; some are properties that follow from others."""
    try:
        setattr(configuration, field, value)
    except (AttributeError, NotImplementedError):
        return


def _texts(kind: str, configuration: Any) -> Any:
    def inputs(batch: int, length: int) -> Call:
        given: dict[str, Any] = {kind: integers(3, 900, batch, length)}
        if getattr(configuration, "is_encoder_decoder", False):
            given["decoder_input_ids"] = integers(3, 900, batch, length // 2)
        if hasattr(configuration, "use_cache"):
            given["use_cache"] = False
        return (), given

    return inputs


def _images(configuration: Any) -> Any:
    size = getattr(configuration, "image_size", 64)
    height, width = (size, size) if isinstance(size, int) else tuple(size)[-2:]
    channels = getattr(configuration, "num_channels", 3)

    def inputs(batch: int, _: int) -> Call:
        return (), {"pixel_values": normal(batch, channels, height, width)}

    return inputs


def _sounds(kind: str, configuration: Any) -> Any:
    features = getattr(configuration, "input_feat_per_channel", 80)

    def inputs(batch: int, length: int) -> Call:
        if kind == "input_values":
            return (), {kind: normal(batch, 1000 * length)}
        return (), {kind: normal(batch, 25 * length, features)}

    return inputs
