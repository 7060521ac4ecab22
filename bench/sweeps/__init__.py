"""Wide sweeps for faults: random files, elementary loops, every version on every target, accuracy of functions."""
