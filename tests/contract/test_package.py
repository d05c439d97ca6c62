"""The package as its users see it from outside."""

import subprocess
import sys

import vsbo

EXPORTED = [
    "Choice", "Config", "Fixed", "InputError", "Integer", "KnownKernel", "MissingExtraError", "NegligibleGain",
    "NumericalError", "ObjectiveError", "Optimizer", "Patience", "Progress", "Real", "Smoothness", "Space", "State",
    "StateError", "StorageError", "Study", "StudyError", "Target", "Trial", "TrialError", "VsboError", "WallClock",
    "__version__", "maximize", "minimize",
]  # fmt: skip


def test_exported_names():
    assert sorted(vsbo.__all__) == EXPORTED
    for name in EXPORTED:
        assert hasattr(vsbo, name)


def test_errors_are_one_tree():
    for name in EXPORTED:
        if name.endswith("Error"):
            assert issubclass(getattr(vsbo, name), vsbo.VsboError)
    assert issubclass(vsbo.InputError, ValueError)


def test_import_is_light():
    """Neither scipy.stats (half a second) nor anything that is not a run-time dependency."""
    program = "import sys, vsbo; print('\\n'.join(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    for heavy in ("scipy.stats", "torch", "pandas", "matplotlib", "sklearn", "click", "rich"):
        assert heavy not in loaded


def test_a_run_needs_no_heavier_import_than_the_package():
    program = (
        "import sys, vsbo; c = vsbo.Config.paper(n_initial=3, select_every=4, n_importance=50);"
        "vsbo.minimize(lambda x: x[0], [(0, 1)] * 6, budget=12, rng=0, config=c); print('scipy.stats' in sys.modules)"
    )
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "False"
