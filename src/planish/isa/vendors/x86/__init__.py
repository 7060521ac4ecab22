"""Intel's own description of its intrinsics, read and run: a file of XML with an operation in pseudocode for each."""
