"""The claims, a module per section."""
