"""Small nests inside of an outer loop, vectorised one by one, with the tables that they read transposed."""
