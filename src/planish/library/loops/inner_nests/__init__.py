"""Small nests inside of a loop, with the tables that they read turned round."""
