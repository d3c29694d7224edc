"""Every figure, made again from results."""
