"""Canonicalisation before analysis: delinearisation, privatisation, scalar promotion, index-set splitting."""
