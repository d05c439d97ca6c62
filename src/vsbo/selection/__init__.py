"""Which variables matter: importance scores, then a subset by the loss of nested models (paper, section 3.1, 3.2)."""

from vsbo.selection.importance import gradient_importance, kl_importance, ranked
from vsbo.selection.momentum import Case, case_of, select
from vsbo.selection.nested import NestedModels
from vsbo.selection.stepwise import Loss, Step, backward, forward

__all__ = [
    "Case", "Loss", "NestedModels", "Step", "backward", "case_of", "forward", "gradient_importance", "kl_importance",
    "ranked", "select",
]  # fmt: skip
