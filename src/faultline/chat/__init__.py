"""Chat models: one seam for APIs and the local server, with its reply cache, limits, budget and prices."""
