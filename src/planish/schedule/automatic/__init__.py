"""Which order is best: the automatic scheduler, tiles, lanes and registers; every result is checked for legality."""
