"""What is done about a flag, as real re-execution (paper 1, section V)."""
