"""Who acts: the reader (an instrument without a language model) and, later, chat models."""
