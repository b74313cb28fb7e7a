"""The error code of a request whose change the log of a coordinator refuses."""

from __future__ import annotations

from eosfw.error_table import TOO_LARGE
from eosfw_memory.common.codes import Code


def append_error_code(refusal: Code) -> Code:
    """Clients ask again later, but not for a change that is too large for the log: it would be so at every attempt."""
    return Code.UNKNOWN_SERVER_ERROR if refusal in TOO_LARGE else Code.COORDINATOR_NOT_AVAILABLE
