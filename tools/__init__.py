"""Command-line tools.

``girih_opt`` runs passes on MLIR files; ``command_line`` reads its options,
``girih_translate`` prints what a device's compiler takes;
``diagnostics`` prints and checks errors, ``listing`` lists the passes;
``reference`` writes the pages of docs that show the code, ``tour`` among them.
"""
