"""Studies to look at: one of mixed variables with failures, and those that have little to show."""

import math

import vsbo

HOSTILE = "<script>alert(1)</script>"
SPACE = vsbo.Space(
    {
        "lr $x$": vsbo.Real(1e-5, 1.0, log=True),
        "layers": vsbo.Integer(1, 12),
        "activation": vsbo.Choice(["relu", "gelu", "tanh"]),
        HOSTILE: vsbo.Real(-5.0, 5.0),
        **{f"w{i}": vsbo.Real(0.0, 1.0) for i in range(6)},
        "mode": vsbo.Fixed("fast"),
    }
)
#: The default, but for shorter periods.
SMALL = vsbo.Config(n_initial=6, select_every=8)


def loss(params):
    if params["w0"] > 0.8:
        raise ValueError("diverged <b>badly</b>")
    level = {"relu": 1.0, "gelu": 0.0, "tanh": 2.0}[params["activation"]]
    return (
        (math.log10(params["lr $x$"]) + 2.0) ** 2 + 0.3 * abs(params["layers"] - 5) + level + 0.1 * params[HOSTILE] ** 2
    )


def mixed(path, budget=30, config=SMALL):
    study = vsbo.Study.open(path, SPACE, seed=1, config=config)
    study.run(loss, budget)
    return study


def _told(path, values, name):
    study = vsbo.Study.open(path, SPACE, seed=1, config=SMALL, name=name)
    for value in values:
        study.tell(study.ask(), value)
    return study


#: What a study has that has nothing to show, and what is said of it.
POOR = {
    "empty": ([], "no evaluation has finished yet"),
    "one": ([1.0], "there is one value only"),
    "failures": ([math.nan] * 9, "all 9 evaluations failed"),
    "equal": ([2.0] * 16, "all values are equal"),
}


def poor(path, kind, name="study"):
    return _told(path, POOR[kind][0], name)
