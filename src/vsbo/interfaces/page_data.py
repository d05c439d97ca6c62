"""What the report and the live page show, as JSON-able values; the page's script draws it."""

import json
import platform
from collections.abc import Callable
from dataclasses import asdict, dataclass
from math import isfinite
from typing import Any

import numpy as np
import scipy

from vsbo._version import __version__
from vsbo.explain import History, Importance, choices_of
from vsbo.explain.history import ORIGINS
from vsbo.explain.words import plural
from vsbo.interfaces.display import duration
from vsbo.interfaces.template import as_text
from vsbo.pictures import views
from vsbo.pictures.views import NINETY, NothingYet
from vsbo.space import Choice, Space
from vsbo.state import State
from vsbo.study import Study

#: Variables in the picture of importance, in that of the selections, over time and along the best trials; slices.
BARS, ROWS, LINES, SLICES = 20, 30, 8, 6
#: Trials in the picture of the best ones; failures that are listed, and characters of their reasons.
BEST, FAILURES, REASON = 20, 20, 500
#: Variables of the best point that are shown beside its value.
POINT = 12
#: Evaluations in a slice or a contour: of more, the best of them and others, evenly over time.
MOST_POINTS = 400


@dataclass(frozen=True)
class Explained:
    """What takes seconds to compute in a large study. model: slices and contour, as the page shows them."""

    importance: Importance
    history: History
    model: dict[str, Any]


def explained(study: Study) -> Explained:
    """All that is known by now."""
    importance = study.importance()
    return Explained(importance, study.history(), _model(study.state, importance))


def page_data(study: Study, known: Explained | None, most: int | None = None) -> dict[str, Any]:
    """All that the page shows. known: None while it is being computed. most: variables in the table, the most important
    ones; None for all.
    """
    importance, history = (None, None) if known is None else (known.importance, known.history)
    state = study.state
    statuses = [one.status for one in state.evaluations]
    done, failed, pending = (statuses.count(status) for status in ("done", "failed", "pending"))
    return {
        "study": study.name,
        "summary": f"{study.direction}, {plural(state.D, 'variable')}; {plural(done + failed, 'evaluation')}, "
        f"of which {failed} failed; {pending} pending; {_chosen(state)}",
        "done": done,
        "failed": failed,
        "convergence": _view(lambda: asdict(views.convergence(state))),
        "importance": None if importance is None else _importance(state, importance),
        "over_time": _view(lambda: asdict(views.importance_over_time(state, LINES))),
        "selected": _view(lambda: asdict(views.selected(state, ROWS))),
        **({"slices": None, "contour": None} if known is None else known.model),
        "predictions": None if history is None else _predictions(history),
        "parallel": None if importance is None else _view(lambda: _parallel(study, importance)),
        "story": [] if history is None else list(history.sentences),
        "seconds": "" if history is None else _seconds(history),
        "best": _best(study, importance),
        "variables": [] if importance is None else _variables(study, importance, most),
        "of": state.D,
        "failures": _failures(study),
        "repeat": _repeat(study, whole=most is None),
    }


def _chosen(state: State) -> str:
    """What is picked out, in words."""
    choices = choices_of(state)
    if choices and choices[-1].scales is not None:
        return f"{plural(len(choices[-1].variables), 'variable')} with a main effect"
    return f"{plural(len(state.active), 'variable')} in use"


def as_json(data: Any) -> str:
    """JSON that may stand inside a script element: no character of it begins a tag."""
    text = json.dumps(_rounded(data), ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _rounded(value: Any) -> Any:
    """Pictures need six digits; what is to be read exactly is text already."""
    if isinstance(value, float):
        return float(f"{value:.6g}") if isfinite(value) else None
    if isinstance(value, dict):
        return {key: _rounded(one) for key, one in value.items()}
    return [_rounded(one) for one in value] if isinstance(value, (list, tuple)) else value


def _view(make: Callable[[], Any]) -> Any:
    """A view, or why there is none."""
    try:
        return make()
    except NothingYet as why:
        return {"note": _sentence(str(why))}


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + "."


def _importance(state: State, importance: Importance) -> dict[str, Any]:
    if importance.note:
        return {"note": _sentence(importance.note)}
    keys = ("name", "share", "low", "high", "important", "selected")
    mark = "has a main effect of its own now" if state.theta is not None and state.theta.main else "in use now"
    return {"mark": mark, "rows": [{key: getattr(one, key) for key in keys} for one in importance.ranked[:BARS]]}


def _model(state: State, importance: Importance) -> dict[str, Any]:
    try:
        model = views.Model(state)
    except NothingYet as why:
        note = {"note": _sentence(str(why))}
        return {"slices": note, "contour": note}
    leading = model.leading(importance, SLICES)
    one = {"note": "The model has one variable only."}
    sign = views.sign_of(state)
    contour = _fewer(asdict(model.contour(leading[0], leading[1])), sign) if len(leading) > 1 else one
    return {"slices": [_fewer(asdict(model.slice(j)), sign) for j in leading], "contour": contour}


def _fewer(view: dict[str, Any], sign: float) -> dict[str, Any]:
    """With MOST_POINTS at most: the page is to stay small. A point's value comes last; times sign, more is better."""
    points = view["points"]
    if len(points) <= MOST_POINTS:
        return view
    best = sorted(range(len(points)), key=lambda i: -sign * points[i][-1])[: MOST_POINTS // 2]
    evenly = range(0, len(points), -(-2 * len(points) // MOST_POINTS))
    return {**view, "points": [points[i] for i in sorted({*best, *evenly})]}


def _predictions(history: History) -> dict[str, Any]:
    found = history.predictions
    if found is None:
        return {"note": _sentence(history.note or "there is no model of the values yet")}
    return {
        "trials": list(found.trials),
        "observed": found.observed.tolist(),
        "predicted": found.predicted.tolist(),
        "half": (NINETY * found.deviation).tolist(),
        "r2": found.r2,
        "coverage": found.coverage,
    }


def _parallel(study: Study, importance: Importance) -> dict[str, Any]:
    return asdict(views.parallel(study.state, importance, BEST, LINES))


def _seconds(history: History) -> str:
    spent = history.seconds
    if not history.convergence:
        return ""
    selections = f"selections {duration(spent.selection)}, " if spent.selection else ""
    own = (
        f"vsbo itself took {duration(spent.own)}: {selections}"
        f"fits {duration(spent.fit)}, the rest of asking {duration(spent.acquisition)}."
    )
    return own + ("" if spent.evaluation is None else f" The evaluations took {duration(spent.evaluation)}, summed up.")


def _range(space: Space, name: str) -> str:
    if name in space.fixed:
        return "fixed"
    variable = space.variables[name]
    if isinstance(variable, Choice):
        shown = ", ".join(map(as_text, variable.values[:5]))
        return f"one of {shown}" + (f" and {len(variable.values) - 5} more" if len(variable.values) > 5 else "")
    dots = ".." if variable.whole else " to "
    return f"{variable.low:.6g}{dots}{variable.high:.6g}" + (", log" if variable.log else "")


def _best(study: Study, importance: Importance | None) -> dict[str, Any]:
    best = study.best
    if best is None:
        return _view(lambda: views.done_of(study.state))  # type: ignore[no-any-return]
    ranked = study.space.names if importance is None else [one.name for one in importance.ranked]
    names = [*ranked[:POINT], *study.space.fixed]
    return {
        "value": repr(best.y),
        "number": best.number,
        "origin": f"from {ORIGINS[best.origin]}" if best.origin in ORIGINS else best.origin,
        "point": [[name, as_text(best.params[name]), _range(study.space, name)] for name in names[: POINT + 4]],
        "more": max(0, study.space.D - POINT),
    }


def _variables(study: Study, importance: Importance, most: int | None) -> list[dict[str, Any]]:
    best = study.best
    keys = (
        "rank", "name", "share", "low", "high", "probability", "local_share", "direction", "important", "selected",
        "times_selected",
    )  # fmt: skip
    return [
        {key: getattr(one, key) for key in keys}
        | {
            "best": None if best is None else as_text(best.params[one.name]),
            "range": _range(study.space, one.name),
        }
        for one in importance.ranked[:most]
    ]


def _failures(study: Study) -> list[list[Any]]:
    state = study.state
    failed = [state.evaluations[n] for n in state.finished if state.evaluations[n].status == "failed"]
    return [[one.number, one.reason[:REASON]] for one in failed[-FAILURES:]]


def _repeat(study: Study, *, whole: bool) -> list[list[str]]:
    """Titles and texts: versions, and a program that makes the same study; the latter only if all is wanted."""
    state = study.state
    versions = {
        "vsbo": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "system": f"{platform.system()} {platform.machine()}",
    }
    found = [["Versions of this page", "\n".join(f"{name} {version}" for name, version in versions.items())]]
    if not whole:
        return [*found, ["Seed", str(state.seed)], ["Configuration", _plain_text(state.config.to_plain())]]
    program = (
        "import json\n\nimport vsbo\n\n"
        f"space = vsbo.Space.from_plain(json.loads({json.dumps(state.space.to_plain())!r}))\n"
        f"config = vsbo.Config.from_plain(json.loads({json.dumps(state.config.to_plain())!r}))\n"
        f"study = vsbo.Study.open('again.db', space, direction={state.direction!r}, seed={state.seed}, config=config)\n"
        f"# study.run(f, budget={len(state.finished)})  # f: the objective\n"
    )
    return [
        *found,
        ["Configuration", _plain_text(state.config.to_plain())],
        ["A program that begins it again", program],
    ]


def _plain_text(config: dict[str, Any]) -> str:
    return "\n".join(f"{key} = {value!r}" for key, value in config.items())
