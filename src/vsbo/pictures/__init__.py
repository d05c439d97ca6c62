"""Pictures of a search: what each shows, as numbers (views), and drawn with matplotlib (plot, draw)."""

from vsbo.pictures.plot import PICTURES, Plot

__all__ = ["PICTURES", "Plot"]
