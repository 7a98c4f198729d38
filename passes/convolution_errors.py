"""Calls of convolutions that write where they must not: known errors of libraries.

oneDNN's gradient of the weight of a 1 x 1 convolution with strides, of images with the
channels innermost, first gathers the pixels that the convolution reads (its kernels
``jit_1x1:avx512_core`` and ``jit_1x1:avx2``), whole vectors of channels at a time: of
fewer channels than a vector, it writes after the end of its scratch memory. The heap
is corrupted; often the process dies. Row-major images are computed in layouts of
oneDNN's own, which are padded.

Source: a search with an allocator whose blocks end where memory ends (2026-11-22, torch
2.13 with oneDNN 3.12, AMD EPYC with AVX-512, also with ``ONEDNN_MAX_CPU_ISA=AVX2``). Of
7,000 random calls (float32, 1 to 64 channels, windows of 1 to 7, strides, paddings,
dilations, groups, 1 to 8 images), 42 failed, all of this kind; no result of the others
was wrong. Then each number of channels: those below 16 fail with AVX-512, in float32
and bfloat16, those below 8 with AVX2, and none up to 128; neither with paddings, nor
without strides, in float16, of images of one or three dims, nor for the gradient of the
image.
"""

from collections.abc import Sequence

from girih.dialects.dims import Size

WIDEST_VECTOR = 16
"""Most channels that the gathering moves at once: floats of 512 bits."""


def overruns_channels_last(weight: Sequence[Size], stride: Sequence[Size]) -> bool:
    """Whether the gradient of a weight may not be asked for with channels innermost.

    Args:
        weight: Sizes of the weight: channels of the result, channels of the image (of
            one group), window.
        stride: Steps of the window.

    Paddings, groups and parts of a vector after whole ones make no difference here, to
    be on the safe side.
    """
    _, channels, *window = weight
    is_strided = any(step != 1 for step in stride)
    is_whole = isinstance(channels, int) and channels % WIDEST_VECTOR == 0
    return is_strided and all(size == 1 for size in window) and not is_whole
