"""Signal processing: FIR, biquad cascades, LMS, FFT stages, bit reversal."""
