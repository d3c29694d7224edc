"""Batched NLI and embedding scores over distinct texts, cached by content."""
