"""The colours of the timeline, which colour-blind readers can tell apart (after Okabe and Ito)."""

from __future__ import annotations

from typing import Final

from eosfw.observe.event_aggregation import Outcome

OUTCOME: Final = {
    Outcome.COMMITTED: "#0072b2",
    Outcome.ABORTED: "#e69f00",
    Outcome.FENCED: "#d55e00",
    Outcome.OPEN: "#9aa5b1",
    Outcome.STAGED: "#3a94c8",
    Outcome.SKIPPED: "#00805d",
}
START: Final = "#c7d0d9"
INK: Final = "#1f2933"
MUTED: Final = "#616e7c"
FAINT: Final = "#e4e8ec"
STRIPE: Final = "#f6f8fa"
FENCING: Final = "#a3447a"
GENERATION: Final = "#3e4c59"
ZOMBIE: Final = "#b34700"
ZOMBIE_WASH: Final = "#fdeee3"
