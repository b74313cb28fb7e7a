"""Every request that is asked with and without rights."""

from __future__ import annotations

from collections.abc import Mapping

from . import cluster_requests, group_requests, record_requests, topic_requests, transaction_requests
from .asking import Request

REQUESTS: Mapping[str, Request] = {
    **record_requests.REQUESTS,
    **transaction_requests.REQUESTS,
    **group_requests.REQUESTS,
    **topic_requests.REQUESTS,
    **cluster_requests.REQUESTS,
}
