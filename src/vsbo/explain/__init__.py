"""What a search knows of its variables (`importance_of`), and its story (`history_of`); docs/explain.md."""

from vsbo.explain.choices import Chosen, choices_of
from vsbo.explain.explain import Remembered, importance_of
from vsbo.explain.history import Fallback, History, Outlook, Period, Predictions, SearchRecord, Seconds, StepRecord
from vsbo.explain.importance import Effect, Importance, VariableImportance
from vsbo.explain.story import history_of

__all__ = [
    "Chosen", "Effect", "Fallback", "History", "Importance", "Outlook", "Period", "Predictions", "Remembered",
    "SearchRecord", "Seconds", "StepRecord", "VariableImportance", "choices_of", "history_of", "importance_of",
]  # fmt: skip
