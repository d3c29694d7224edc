"""Labels that people give: how they are resolved, and how far the coders agree."""
