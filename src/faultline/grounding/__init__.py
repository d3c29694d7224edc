"""The embedded grounding model: its training pairs, its training and its evaluation."""
