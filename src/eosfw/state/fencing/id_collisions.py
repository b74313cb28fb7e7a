"""Users of the same transactional id in other groups: Kafka Connect's format does not keep names apart."""

from __future__ import annotations

from typing import NamedTuple

from eosfw.ids import leader_transactional_id

_LEADER = leader_transactional_id("")


class TransactionalIdUser(NamedTuple):
    """A task of a connector in some worker group, or the leader of that group."""

    group_id: str
    connector: str | None = None
    task: int = 0

    def __str__(self) -> str:
        if self.connector is None:
            return f"the leader of group {self.group_id!r}"
        return f"task {self.task} of connector {self.connector!r} in group {self.group_id!r}"


def colliding_users(transactional_id: str, group_id: str) -> list[TransactionalIdUser]:
    """Users in other groups with the same id: `a-b-c-0` is task 0 of `c` in `a-b`, and of `b-c` in `a`."""
    users = []
    names, _, number = transactional_id.rpartition("-")
    if number.isascii() and number.isdecimal() and str(int(number)) == number:
        dashes = [at for at, letter in enumerate(names) if letter == "-"]
        users += [TransactionalIdUser(names[:at], names[at + 1 :], int(number)) for at in dashes]
    if transactional_id.startswith(_LEADER):
        users.append(TransactionalIdUser(transactional_id.removeprefix(_LEADER)))
    return [user for user in users if user.group_id not in ("", group_id) and user.connector != ""]
