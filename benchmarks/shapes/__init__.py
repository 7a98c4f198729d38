"""Programs of the kinds of which models consist, at sizes that are drawn at random."""
