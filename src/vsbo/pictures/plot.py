"""`study.plot.NAME()`: each picture on an Axes of matplotlib, an extra: `pip install vsbo[plot]`."""

from collections.abc import Callable
from typing import Any

from vsbo.config import as_whole
from vsbo.errors import InputError
from vsbo.pictures import views
from vsbo.pictures.views import Explained, NothingYet


class Plot:
    """The pictures of a study. Each takes `ax`, where to draw; without it, a new figure of pyplot's. Returns the Axes.

    Where there is nothing to show yet, the picture says why.
    """

    def __init__(self, study: Explained) -> None:
        self._study = study

    def convergence(self, *, ax: Any = None) -> Any:
        """The value of each evaluation, and the best so far."""

        def show(ax: Any, draw: Any) -> None:
            draw.convergence(ax, views.convergence(self._study.state))

        return _drawn(show, ax)

    def importance(self, top: int = 20, *, ax: Any = None) -> Any:
        """The share of the variation that each of the `top` variables explains, with 90 % intervals."""
        top = _positive("top", top)

        def show(ax: Any, draw: Any) -> None:
            found = self._study.importance()
            if found.note:
                raise NothingYet(found.note)
            draw.importance(ax, found, top)

        return _drawn(show, ax)

    def importance_over_time(self, top: int = 8, *, ax: Any = None) -> Any:
        """The scores of the `top` variables at each choice of variables, as the search saw them then."""
        top = _positive("top", top)

        def show(ax: Any, draw: Any) -> None:
            draw.importance_over_time(ax, views.importance_over_time(self._study.state, top))

        return _drawn(show, ax)

    def selected(self, top: int = 40, *, ax: Any = None) -> Any:
        """Which variables were chosen when, of the `top` that were so most often."""
        top = _positive("top", top)

        def show(ax: Any, draw: Any) -> None:
            draw.selected(ax, views.selected(self._study.state, top))

        return _drawn(show, ax)

    def effect(self, variable: str | None = None, *, ax: Any = None) -> Any:
        """The model along a variable (the most important one in use), through the best point, and the points."""

        def show(ax: Any, draw: Any) -> None:
            model = views.Model(self._study.state)
            j = model.leading(self._study.importance(), 1)[0] if variable is None else model.index(variable)
            draw.effect(ax, model.slice(j))

        return _drawn(show, ax)

    def contour(self, first: str | None = None, second: str | None = None, *, ax: Any = None) -> Any:
        """The model over two variables (the two most important ones in use), around the best point."""

        def show(ax: Any, draw: Any) -> None:
            model = views.Model(self._study.state)
            given = [model.index(name) for name in (first, second) if name is not None]
            leading = () if len(given) == 2 else model.leading(self._study.importance(), 2)
            chosen = [*given, *(j for j in leading if j not in given)][:2]
            if len(chosen) < 2:
                raise NothingYet("the model has one variable only")
            if chosen[0] == chosen[1]:
                raise InputError(f"first and second must be two variables; got {first!r} twice")
            draw.contour(ax, model.contour(chosen[0], chosen[1]))

        return _drawn(show, ax)

    def predictions(self, *, ax: Any = None) -> Any:
        """Each value against what the model predicts from all the others."""

        def show(ax: Any, draw: Any) -> None:
            history = self._study.history()
            if history.predictions is None:
                raise NothingYet(history.note or "there is no model of the values yet")
            draw.predictions(ax, history.predictions)

        return _drawn(show, ax)

    def parallel(self, best: int = 20, top: int = 8, *, ax: Any = None) -> Any:
        """The `best` trials along the `top` most important variables."""
        best, top = _positive("best", best), _positive("top", top)

        def show(ax: Any, draw: Any) -> None:
            views.done_of(self._study.state)
            draw.parallel(ax, views.parallel(self._study.state, self._study.importance(), best, top))

        return _drawn(show, ax)


#: Their names.
PICTURES = tuple(name for name in vars(Plot) if not name.startswith("_"))


def _positive(name: str, value: int) -> int:
    if as_whole(name, value) < 1:
        raise InputError(f"{name} must be a whole number >= 1; got {value!r}")
    return int(value)


def _drawn(show: Callable[[Any, Any], None], ax: Any) -> Any:
    """The Axes, with the picture or with why there is none."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise InputError("pictures need matplotlib, which is not installed: pip install 'vsbo[plot]'") from None
    from vsbo.pictures import draw

    if ax is None:
        from matplotlib import pyplot

        _, ax = pyplot.subplots(figsize=(7.5, 4.8), layout="constrained")
    try:
        show(ax, draw)
    except NothingYet as why:
        draw.nothing(ax, str(why))
    return ax
