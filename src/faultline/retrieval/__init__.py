"""Retrievers over pools of passages, and the environment that agents call."""
