"""The programs, one file a family; see ``differential.program``."""
