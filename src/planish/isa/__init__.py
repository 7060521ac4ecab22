"""Instructions: each is a small nest over lanes and the C that does it; a vector extension is one file of them."""
