"""FFT stages written as loops (radix-2 and up), several at a time in registers."""
