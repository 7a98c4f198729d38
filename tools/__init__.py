"""Command-line tools.

``girih_opt`` runs passes on MLIR files; ``command_line`` reads its options,
``diagnostics`` prints and checks errors, ``listing`` lists the passes.
"""
