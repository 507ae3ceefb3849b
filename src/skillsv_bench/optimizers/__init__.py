"""Growth games: what optimizers make of a text with and without pruning, where the worth of every line is known."""
