"""What to do with the variables that are not modelled (paper, section 3.3)."""

from vsbo.complement.cma import Cma, cma_from_design, cma_update
from vsbo.complement.conditional import conditional
from vsbo.complement.mix import mix
from vsbo.complement.truncated import sample_in_box

__all__ = ["Cma", "cma_from_design", "cma_update", "conditional", "mix", "sample_in_box"]
