"""A band becomes tiles, register strips and vector lanes; scalar replacement inside them."""
