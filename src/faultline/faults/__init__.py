"""What can go wrong, as wrappers of the environment, each with a certificate of its exact edit."""
