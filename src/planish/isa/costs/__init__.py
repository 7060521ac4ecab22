"""What instructions cost on processors: tables that were made of LLVM's scheduling models."""
