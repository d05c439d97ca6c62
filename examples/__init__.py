"""Studies that show how vsbo is used; each runs by itself (README.md)."""
