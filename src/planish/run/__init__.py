"""What runs outside this process: compilers, children with limits, the oracle and the benchmark clock."""
