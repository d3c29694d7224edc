"""Entry points and one module an experiment."""
