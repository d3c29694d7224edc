"""Agents: what runs a task to its end."""
