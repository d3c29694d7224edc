"""CHARM inside other people's pipelines: failure policy, human checkpoint, audit log, adapters."""
