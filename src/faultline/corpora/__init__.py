"""Data sets, one module each, and the synthetic world."""
