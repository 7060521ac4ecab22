"""Very long instruction words: from linear streams of operations to packed, software-pipelined assembly."""
