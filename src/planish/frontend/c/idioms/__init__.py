"""C idioms read as loop nests: FFT stages, bit reversal, histograms, collapsed loops, `continue`."""
