"""Programs that show how vsbo is used; each runs by itself."""
