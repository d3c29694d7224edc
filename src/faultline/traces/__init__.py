"""Traces of other people's pipelines as trajectories: OTLP, LangSmith, Inspect, plain JSON Lines."""
