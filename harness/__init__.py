"""The operator as a process that tests, proofs and benchmarks start, disturb and measure from outside."""
