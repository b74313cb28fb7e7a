"""Write a software bill of materials (CycloneDX 1.5) that depends on the commit alone."""

from __future__ import annotations

import json
import uuid
from datetime import UTC, datetime
from typing import Any

_NAMESPACE = uuid.uuid5(uuid.NAMESPACE_URL, "https://cyclonedx.org/")


def canonical(exported: str, version: str, epoch: int) -> str:
    """What `uv export` wrote, without what differs between two runs.

    An index may add a file to a version later, and a mirror has other addresses: the files of other projects are left
    out. Their name and version stay, as a package URL.
    """
    bill: dict[str, Any] = json.loads(exported)
    bill["metadata"]["timestamp"] = datetime.fromtimestamp(epoch, UTC).isoformat().replace("+00:00", "Z")
    bill["metadata"]["component"]["version"] = version
    for component in bill["components"]:
        component.pop("externalReferences", None)
    bill.pop("serialNumber")
    bill["serialNumber"] = f"urn:uuid:{uuid.uuid5(_NAMESPACE, json.dumps(bill, sort_keys=True))}"
    return json.dumps(bill, indent=2, sort_keys=True) + "\n"
