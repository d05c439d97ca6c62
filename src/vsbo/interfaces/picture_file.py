"""`vsbo plot`: a picture as a file."""

from collections.abc import Sequence
from pathlib import Path

from vsbo.errors import InputError
from vsbo.pictures import PICTURES, Plot

#: What --top and --variable are arguments of.
_WITH_TOP = ("importance", "importance_over_time", "selected", "parallel")
_VARIABLES = {"effect": ("variable",), "contour": ("first", "second")}


def save_picture(plot: Plot, picture: str, output: Path, variables: Sequence[str], top: int | None) -> None:
    """Draw one of PICTURES into a file, whose ending says in which format."""
    if picture not in PICTURES:
        raise InputError(f"NAME must be one of {', '.join(PICTURES)}; got {picture!r}")
    names = _VARIABLES.get(picture, ())
    if len(variables) > len(names):
        raise InputError(f"{picture} takes --variable {len(names)} times at most; got {len(variables)}")
    if top is not None and picture not in _WITH_TOP:
        raise InputError(f"--top is for {', '.join(_WITH_TOP)}; got it for {picture}")
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise InputError("pictures need matplotlib, which is not installed: pip install 'vsbo[plot]'") from None
    figure = Figure(figsize=(7.5, 4.8), layout="constrained")
    known = figure.canvas.get_supported_filetypes()
    if output.suffix.removeprefix(".").lower() not in known:
        raise InputError(f"--output must end in one of {', '.join('.' + one for one in known)}; got {output}")
    options = dict(zip(names, variables, strict=False)) | ({} if top is None else {"top": top})
    getattr(plot, picture)(ax=figure.subplots(), **options)
    figure.savefig(output, dpi=150)
