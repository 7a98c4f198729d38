"""The passes, one file or folder each, and where to find them.

- ``registry``: what a pass is, and running pipelines of our own and upstream passes.
- ``stages``: the order of the compiler, as data; ``pipelines``: stretches of it.
- ``places``, ``user_passes``: where passes of users run, and what they are.
- ``errors``: failures of passes; ``signatures``: what users' passes must not change.
- ``fingerprints``: what a function does, for cache keys; ``standalone``: as a file.
- ``pipeline_syntax``: textual pipelines; ``options``: options of passes, as text;
  ``default_options``: those that passes take from others of their class.
- ``observers``: printing, dumping, timing; ``choices``, ``remarks``: what passes decide
  and say about it.
- ``reproducer``: files that replay a failure.
- everything else: passes, named as on the command line with ``_`` for ``-``.
"""

# Pass name -> module, imported when the pass is first used, so that girih-opt starts
# fast. Passes outside of this package call ``register_pass`` when they are imported.
PASS_MODULES = {
    "autograd": "girih.passes.autograd",
    "batch-launches": "girih.passes.batch_launches",
    "cancel-permutes": "girih.passes.cancel_permutes",
    "canonicalize-graph": "girih.passes.canonicalize_graph",
    "choose-convolution-layouts": "girih.passes.choose_convolution_layouts",
    "convert-graph-to-host": "girih.passes.convert_graph_to_host",
    "convert-tile-to-cpu": "girih.passes.convert_tile_to_cpu",
    "convert-tile-to-tt": "girih.passes.convert_tile_to_tt",
    "decompose": "girih.passes.decompose",
    "drop-zero-cotangents": "girih.passes.drop_zero_cotangents",
    "eliminate-common-subexpressions": "girih.passes.eliminate_common_subexpressions",
    "expand-math": "girih.passes.expand_math",
    "fold-batch-norms": "girih.passes.fold_batch_norms",
    "fuse": "girih.passes.fuse",
    "fuse-closing-reductions": "girih.passes.fuse_closing_reductions",
    "fuse-contractions": "girih.passes.fuse_contractions",
    "group-launches": "girih.passes.group_launches",
    "hint-eviction": "girih.passes.hint_eviction",
    "hoist-loads": "girih.passes.hoist_loads",
    "hoist-vectors": "girih.passes.hoist_vectors",
    "hold-bfloat16-as-bits": "girih.passes.hold_bfloat16_as_bits",
    "launch-products": "girih.passes.launch_products",
    "mark-aligned-arguments": "girih.passes.mark_aligned_arguments",
    "merge-convolutions": "girih.passes.merge_convolutions",
    "narrow-intermediates": "girih.passes.narrow_intermediates",
    "pack-convolutions": "girih.passes.pack_convolutions",
    "pack-products": "girih.passes.pack_products",
    "partition": "girih.passes.partition",
    "plan-memory": "girih.passes.plan_memory",
    "print-fusion-plan": "girih.passes.fuse",
    "print-layouts": "girih.passes.convert_graph_to_host",
    "print-partition": "girih.passes.partition",
    "print-schedules": "girih.passes.tile",
    "recognize-attention": "girih.passes.recognize_attention",
    "replace-module": "girih.passes.replace_module",
    "round-before-jumps": "girih.passes.round_before_jumps",
    "select-products": "girih.passes.select_products",
    "separate-reductions": "girih.passes.separate_reductions",
    "share-flat-kernels": "girih.passes.share_flat_kernels",
    "sink-permutes": "girih.passes.sink_permutes",
    "split-constants": "girih.passes.split_constants",
    "tile": "girih.passes.tile",
    "write-out-attention": "girih.passes.write_out_attention",
    "write-out-batch-norms": "girih.passes.write_out_batch_norms",
    "write-out-complex": "girih.passes.write_out_complex",
    "write-out-convolutions": "girih.passes.write_out_convolutions",
    "write-out-reductions": "girih.passes.write_out_reductions",
    "write-out-rolls": "girih.passes.write_out_rolls",
    "write-out-scatters": "girih.passes.write_out_scatters",
    "write-out-vector-products": "girih.passes.write_out_vector_products",
}
