"""Assert that the rights of a connector are enough, and that it needs each of them."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass
from typing import Final

import pytest

from eosfw.errors import EosfwError
from eosfw.runtime import acl_plan, connector_config
from pytest_eos.runs.run import Run

_ABOUT_RIGHTS: Final = re.compile("authoriz", re.IGNORECASE)
_WORKER: Final = "worker"
"""Whose rights are given and never taken away, unless the connector needs them, too."""


@dataclass(frozen=True, slots=True)
class PlannedRights:
    """What `eosfw acl plan` lists, in words such as `Write on topic orders`, each with the name of its resource."""

    every: Mapping[str, str]
    connector: Collection[str]
    """Those that the connector's clients need."""
    topics: frozenset[str]

    @classmethod
    def of(cls, run: Run) -> PlannedRights:
        """The rights of a run's connector in its group."""
        local = run.group.local
        kind = local.plugins.connector(run.properties["connector.class"])
        config = connector_config(kind, run.name, run.properties)
        every: dict[str, str] = {}
        connector: dict[str, None] = {}
        topics = set()
        for one in acl_plan(local.config, config, run.topics):
            resource = one.resource.value
            for operation in one.operations:
                right = f"{operation} on {resource} {one.name}"
                every[right] = one.name
                if one.holder.value != _WORKER:
                    connector[right] = None
            if resource == "topic":
                topics.add(one.name)
        return cls(every, tuple(connector), frozenset(topics))


def assert_minimal_rights(run: Run, user: str) -> None:
    """Run a connector again as a user, with all rights and without each one; raise AssertionError."""
    __tracebackhide__ = True
    cluster, rights = run.eos.cluster, PlannedRights.of(run)
    cluster.allow(user, *rights.every)
    try:
        if (why := _failure(run, user, rights, fresh=True)) is not None:
            raise AssertionError(f"{run} cannot run with the rights that `eosfw acl plan` lists: {why}")
        mistakes = [*filter(None, (_mistake(run, user, rights, right) for right in rights.connector))]
    finally:
        cluster.revoke(user, *rights.every)
    if mistakes:
        raise AssertionError("\n".join([f"the rights of {run} are not the least, or not told:", *mistakes]))


def _mistake(run: Run, user: str, rights: PlannedRights, right: str) -> str | None:
    """What is wrong with a run that lacks one right; None if it fails and says so."""
    # A Deny: to take the right back alone would show nothing where another one implies it, as Write does Describe.
    run.eos.cluster.allow(user, f"Deny {right}")
    try:
        # Some rights are needed by a connector that begins, some by one that goes on from its offsets. The topics that
        # are there are tried first, for their absence hides some rights: what cannot be seen is waited for in vain.
        failures = (_failure(run, user, rights, fresh=fresh) for fresh in (False, True, False))
        why = next(filter(None, failures), None)
    finally:
        run.eos.cluster.revoke(user, f"Deny {right}")
    if why is None:
        return f"  {right}: it runs without"
    if rights.every[right] not in why or not _ABOUT_RIGHTS.search(why):
        return f"  {right}: it fails without, and does not say that a right to {rights.every[right]} is missing: {why}"
    return None


def _failure(run: Run, user: str, rights: PlannedRights, *, fresh: bool) -> str | None:
    """Run the connector until its source is drained; why it failed, or None."""
    if fresh:
        _delete(run, rights.topics)
    group = run.eos.worker(run.group.name, user=user)
    try:
        group.put(run.name, run.properties)
        group.until_drained()
    except (EosfwError, pytest.fail.Exception) as why:
        return str(why)
    finally:
        with suppress(EosfwError):
            group.stop()
    return None


def _delete(run: Run, topics: Collection[str]) -> None:
    """Delete those topics that there are, as whoever may do everything."""
    with closing(run.eos.backend.admin()) as admin:
        found = [*filter(topics.__contains__, admin.partitions())]
        if found:
            admin.delete_topics(found)
            run.eos.waiter.until(lambda: not {*found} & {*admin.partitions()}, "the end of deleted topics")
