"""Rewrites before scheduling: loop fission, scalar promotion, packing, reassociation, rematerialisation."""
