"""Measurements of vsbo and its peers; uses vsbo's public names, never the reverse."""
