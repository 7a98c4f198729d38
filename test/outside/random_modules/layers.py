"""Lines that call modules."""

from __future__ import annotations

from random_modules.builder import Builder

CHANNELS = (1, 2, 3, 4, 6, 8, 16)


def convolution(b: Builder, name: str | None = None) -> str | None:
    """1-D to 3-D, plain or transposed, with groups, strides, dilation."""
    name = name or b.pick_float(3, 4, 5)
    if name is None:
        return None
    x = b.values[name]
    rank, inputs = x.dim() - 2, x.shape[1]
    groups = b.choose(1, 1, 1, inputs, *[g for g in (2, 3) if inputs % g == 0])
    outputs = groups * b.choose(1, 2, 4, 8, inputs)
    kernel, stride = b.choose(1, 1, 3, 3, 2, 5), b.choose(1, 1, 2, 3)
    padding = b.choose(kernel // 2, kernel // 2, 0)
    options = f"{inputs}, {outputs}, {kernel}, {stride}, {padding}, groups={groups}"
    options += b.choose("", ", bias=False") + b.choose("", "", ", dilation=2")
    kind = b.choose("Conv", "Conv", "Conv", "ConvTranspose")
    module = b.add_field(f"nn.{kind}{rank}d({options}, dtype={b.dtype})")
    return b.add_line(f"{module}({name})") if module else None


def block(b: Builder, name: str | None = None) -> str | None:
    """A convolution, a norm and a function, as networks repeat them."""
    name = convolution(b, name)
    name = normalization(b, name) if name else None
    if name and b.choose(True, False):
        text = b.choose("F.relu({a})", "F.silu({a})", "F.relu({a}, inplace=True)")
        return b.add_line(text.format(a=name))
    return name


def hybrid(b: Builder) -> None:
    """An image through a block to a sequence."""
    name = b.pick_float(4)
    name = block(b, name) if name else None
    if name:
        tokens(b, name)


def branches(b: Builder) -> None:
    """Convolutions of one image, of several widths, added."""
    name = b.pick_float(4)
    if name is None:
        return
    inputs, outputs = b.values[name].shape[1], b.choose(4, 8, 48)
    stride, made = b.choose(1, 2, 2), []
    for kernel in b.rng.sample((1, 3, 5), 2):
        options = f"{inputs}, {outputs}, {kernel}, {stride}, {kernel // 2}"
        options += b.choose("", ", bias=False")
        module = b.add_field(f"nn.Conv2d({options}, dtype={b.dtype})")
        made.append(f"{module}({name})")
    b.add_line(" + ".join(made))


def tokens(b: Builder, name: str | None = None) -> None:
    """An image of features to a sequence, often behind a class token."""
    name = name or b.pick_float(4)
    if name is None:
        return
    turned = b.choose(".flatten(2).permute(0, 2, 1)", ".flatten(2).transpose(1, 2)")
    made = b.add_line(f"{name}{turned}")
    if made and b.choose(True, True, False):
        batch, _, width = b.values[made].shape
        first = b.add_input(
            f"tensor(({batch}, {b.choose(1, 2, 4)}, {width}), {b.dtype}, 3)",
            b.choose("", "leaf"),
        )
        b.add_line(f"torch.cat(({first}, {made}), 1)")


def normalization(b: Builder, name: str | None = None) -> str | None:
    """Over the batch, layers, groups, instances; root mean squares."""
    name = name or b.pick_float(2, 3, 4, 5)
    if name is None:
        return None
    x = b.values[name]
    channels, last, rank = x.shape[1], x.shape[-1], max(x.dim() - 2, 1)
    groups = b.choose(1, channels, *[g for g in (2, 3) if channels % g == 0])
    affine, dtype = b.choose(True, True, False), f"dtype={b.dtype}"
    texts = [
        f"nn.LayerNorm({last}, elementwise_affine={affine}, {dtype})",
        f"nn.RMSNorm({last}, elementwise_affine={affine}, {dtype})",
        f"nn.GroupNorm({groups}, {channels}, affine={affine}, {dtype})",
    ]
    options = f"{channels}, affine={affine}, track_running_stats="
    texts += [f"nn.BatchNorm{rank}d({options}{b.choose(True, False)}, {dtype})"] * 3
    if x.dim() > 2:
        tracked = b.choose(True, False, False)
        texts.append(f"nn.InstanceNorm{rank}d({options}{tracked}, {dtype})")
    module = b.add_field(b.choose(*texts))
    return b.add_line(f"{module}({name})") if module else None


def pooling(b: Builder) -> None:
    """Largest and mean values of windows, of given or of adapted size."""
    name = b.pick_float(3, 4, 5)
    if name is None:
        return
    rank = b.values[name].dim() - 2
    window, stride = b.choose(2, 2, 3), b.choose(1, 2)
    text = b.choose(
        f"F.max_pool{rank}d({name}, {window}, {stride})",
        f"F.max_pool{rank}d({name}, 3, 2, 1)",
        f"F.avg_pool{rank}d({name}, {window}, {stride})",
        f"F.avg_pool{rank}d({name}, 3, 2, 1, count_include_pad=False)",
        f"F.adaptive_avg_pool{rank}d({name}, {b.choose(1, 2, 3)})",
        f"F.adaptive_max_pool{rank}d({name}, {b.choose(1, 2)})",
        f"F.interpolate({name}, scale_factor=2, mode='nearest')",
    )
    b.add_line(text)


def linear(b: Builder) -> None:
    """A product with weights."""
    name = b.pick_float(1, 2, 3, 4)
    if name is None:
        return
    width = b.values[name].shape[-1]
    options = f"{width}, {b.choose(*CHANNELS, width)}, bias={b.choose(True, False)}"
    if module := b.add_field(f"nn.Linear({options}, dtype={b.dtype})"):
        b.add_line(f"{module}({name})")


def attention(b: Builder) -> None:
    """The module with many heads, or the function alone."""
    name = b.pick_float(3)
    if name is None:
        return
    width = b.values[name].shape[-1]
    heads = b.choose(*[h for h in (1, 2, 4) if width % h == 0])
    if b.choose(True, False):
        options = f"{width}, {heads}, batch_first={b.choose(True, False)}"
        options += f", dropout={b.choose(0.0, 0.0, 0.2)}, dtype={b.dtype}"
        if module := b.add_field(f"nn.MultiheadAttention({options})"):
            weights = b.choose(True, False)
            call = f"{module}({name}, {name}, {name}, need_weights={weights})[0]"
            b.add_line(call)
        return
    split = f"{name}.unflatten(-1, ({heads}, -1)).transpose(1, 2)"
    causal = b.choose(True, False)
    heads_out = f"F.scaled_dot_product_attention({split}, {split}, {split}, "
    b.add_line(f"{heads_out}is_causal={causal}).transpose(1, 2).flatten(2)")


def encoder(b: Builder) -> None:
    """A layer of a transformer."""
    name = b.pick_float(3)
    if name is None:
        return
    width = b.values[name].shape[-1]
    heads = b.choose(*[h for h in (1, 2) if width % h == 0])
    options = f"{width}, {heads}, 8, dropout={b.choose(0.0, 0.1)}, batch_first=True"
    options += f", norm_first={b.choose(True, False)}, dtype={b.dtype}"
    if module := b.add_field(f"nn.TransformerEncoderLayer({options})"):
        b.add_line(f"{module}({name})")


def recurrent(b: Builder) -> None:
    """Cells over sequences, some of them packed."""
    name = b.pick_float(3)
    if name is None or b.values[name].shape[0] > 12:
        return
    width, kind = b.values[name].shape[-1], b.choose("RNN", "GRU", "LSTM")
    options = f"{width}, {b.choose(2, 4)}, {b.choose(1, 1, 2)}, dtype={b.dtype}"
    options += b.choose("", ", bidirectional=True", ", bias=False")
    module = b.add_field(f"nn.{kind}({options})")
    if module is None:
        return
    lengths = ""
    if b.values[name].shape[0] == b.size and b.choose(True, False):
        count = b.values[name].shape[1]
        text = f"torch.tensor([max(n - 2 * i, 1) for i in range({count})])"
        lengths = f", {b.add_input(text)}"
    b.add_line(
        b.choose(
            f"{module}({name})[0]",
            f"unpack({module}(pack({name}{lengths}))[0])",
            f"unpack({module}(pack({name}{lengths}))[0])",
        )
    )


def cell(b: Builder) -> None:
    """A cell on each step, by a loop that tracing unrolls."""
    name = b.pick_float(2)
    if name is None:
        return
    width, kind = b.values[name].shape[-1], b.choose("RNNCell", "GRUCell")
    if module := b.add_field(f"nn.{kind}({width}, {width}, dtype={b.dtype})"):
        b.add_line(f"{module}({name}, {module}({name}))")


def embedding(b: Builder) -> None:
    """Rows of a table, by numbers that are an argument."""
    shape = b.choose("(n, 3)", "(2, n)", "(n,)")
    words = b.add_input(f"tensor({shape}, torch.int64, {b.rng.randrange(99)})")
    width = b.choose(2, 4, 8)
    if b.choose(True, True, False) or b.values[words].dim() == 1:
        padding = b.choose("", ", padding_idx=0")
        module = b.add_field(f"nn.Embedding(8, {width}{padding}, dtype={b.dtype})")
    else:
        mode = b.choose("sum", "mean", "max")
        text = f"nn.EmbeddingBag(8, {width}, mode='{mode}', dtype={b.dtype})"
        module = b.add_field(text)
    b.add_line(f"{module}({words})")


def dropout(b: Builder) -> None:
    """Random zeros."""
    name = b.pick_float()
    if name is None:
        return
    kinds = ["Dropout", "Dropout", "AlphaDropout"]
    kinds += ["Dropout2d"] if b.values[name].dim() == 4 else []
    if module := b.add_field(f"nn.{b.choose(*kinds)}({b.choose(0.1, 0.5)})"):
        b.add_line(f"{module}({name})")


LAYERS = {
    attention: 2,
    block: 3,
    branches: 3,
    cell: 1,
    convolution: 5,
    dropout: 1,
    embedding: 2,
    encoder: 1,
    hybrid: 3,
    linear: 3,
    normalization: 4,
    pooling: 2,
    recurrent: 2,
    tokens: 2,
}
"""How often each is drawn."""
