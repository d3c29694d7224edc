"""Faultline: how one error travels through an agentic RAG pipeline."""

__version__ = "0.1.0"
