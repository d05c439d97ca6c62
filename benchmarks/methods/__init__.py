"""The methods by name."""
