"""Compilers, cross compilers, emulators and BLAS libraries: found, identified and used."""
