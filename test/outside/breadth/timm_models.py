"""Models of timm: the smallest of each family, with images of the size it is made for.

Where a family repeats one block, a few are enough (``SHALLOW``).
"""

from __future__ import annotations

import timm

from breadth.model import Model, images

NAMES = tuple(
    """
beit_base_patch16_224 bat_resnext26ts botnet26t_256 cait_xxs24_224 coat_lite_tiny
coat_tiny coatnet_pico_rw_224 convit_tiny convmixer_768_32 convnext_atto
convnext_zepto_rms convnextv2_atto cpubone_nano crossvit_tiny_240 cs3darknet_focus_s
cspnext_tiny cspresnet50 darknet53 davit_tiny deit_tiny_distilled_patch16_224
deit_tiny_patch16_224 densenet121 densenetblur121d dla34 dla46_c dpn48b
eca_botnext26ts_256 eca_halonext26ts eca_nfnet_l0 edgenext_xx_small efficientformer_l1
efficientformerv2_s0 efficientnet_b0 efficientvim_m1 efficientvit_b0 efficientvit_m0
ese_vovnet19b_dw eva02_tiny_patch14_224 fasternet_t0 fastvit_mci0 fastvit_t8 fbnetv3_b
focalnet_tiny_srf gcvit_xxtiny gernet_s ghostnet_050 ghostnet_100 ghostnetv2_100
ghostnetv3_050 gmixer_12_224 gmlp_ti16_224 halonet26t hardcorenas_a hgnetv2_b0
hieradet_small hiera_tiny_224 hrnet_w18_small iformer_t inception_next_atto inception_v3
inception_v4 lambda_resnet26t lcnet_050 lcnetv2_small legacy_seresnet18 levit_128s
levit_conv_128s lowformer_b0 mambaout_femto maxvit_pico_rw_256 mixer_s32_224
mixnet_s mobilenetv2_050 mobilenetv3_small_100 mobilenetv4_conv_small
mobilenetv4_hybrid_medium mobileone_s0 mobilevit_xxs mobilevitv2_050 mvitv2_tiny
nest_tiny nextvit_small nf_regnet_b0 nf_resnet26 pit_ti_224 poolformer_s12
poolformerv2_s12 caformer_s18 convformer_s18 pvt_v2_b0 rdnet_tiny regnetx_002
regnety_002 regnetz_005 repghostnet_050 repvgg_a0 repvit_m0_9 res2net50_14w_8s
res2next50 resmlp_12_224 resnest14d resnet10t resnet18 resnetblur18 resnetv2_18
rexnet_100 samvit_base_patch16_224 sebotnet33ts_256 sehalonet33ts selecsls42b
semnasnet_050 sequencer2d_s seresnet18 shvit_s1 skresnet18 starnet_s1 swiftformer_xs
swin_tiny_patch4_window7_224 swinv2_cr_tiny_224 swinv2_tiny_window8_256
tf_efficientnetv2_b0 tf_mobilenetv3_small_minimal_100 tinynet_e tiny_vit_5m_224
tnt_s_legacy_patch16_224 tresnet_m twins_pcpvt_small twins_svt_small vgg11 vgg11_bn
visformer_tiny vit_relpos_small_patch16_224 vit_small_patch16_dinov3
vit_tiny_patch16_224 vit_tiny_r_s16_p8_224 vit_xsmall_patch16_clip_224 vitamin_small_224
volo_d1_224 wide_resnet50_2 xception41 xcit_nano_12_p16_224
""".split()
)

SHALLOW = {
    "beit_base_patch16_224": {"depth": 2},
    "cait_xxs24_224": {"depth": 3},
    "deit_tiny_distilled_patch16_224": {"depth": 4},
    "samvit_base_patch16_224": {"depth": 3, "global_attn_indexes": (2,)},
    "vit_relpos_small_patch16_224": {"depth": 3},
    "vit_small_patch16_dinov3": {"depth": 3},
    "vit_xsmall_patch16_clip_224": {"depth": 3},
}


def build(name: str) -> Model:
    """The model of that name, with random weights."""
    module = timm.create_model(name, pretrained=False, **SHALLOW.get(name, {}))
    return Model(module, **images(*module.default_cfg["input_size"]))
