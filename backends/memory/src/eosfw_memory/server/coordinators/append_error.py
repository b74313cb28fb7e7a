"""The error code of a request whose change the log of a coordinator refuses."""

from __future__ import annotations

from typing import Final

from eosfw_memory.common.codes import Code

_TOO_LARGE: Final = frozenset({Code.MESSAGE_TOO_LARGE, Code.RECORD_LIST_TOO_LARGE})


def append_error_code(refusal: Code) -> Code:
    """Clients ask again later, but not for a change that is too large for the log: it would be so at every attempt."""
    return Code.UNKNOWN_SERVER_ERROR if refusal in _TOO_LARGE else Code.COORDINATOR_NOT_AVAILABLE
