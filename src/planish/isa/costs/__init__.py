"""Instruction costs on processors: tables made of LLVM's scheduling models."""
