"""Memories of a chain: what was said to a request that counts as the same (paper 3, section 3)."""
