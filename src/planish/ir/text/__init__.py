"""The text form of kernels: lexer, parser, printer, and the operator names that these share."""
