"""Start a broker on the disk states after a crash, and compare with the acknowledged requests."""

from __future__ import annotations

import re
import shutil
from collections import Counter
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from eosfw.errors import EosfwError
from eosfw.ids import TopicPartition
from eosfw.security import Address
from eosfw_memory.faults.recorded_disk import RecordingSystem, State, Volume
from eosfw_memory.server.broker.broker import Broker
from eosfw_memory.server.broker.settings import Settings
from eosfw_memory.storage.files.checksum_line import read_checked, with_checksum
from eosfw_memory.storage.files.data_directory import DataDirectory
from eosfw_memory.storage.files.lock_file import LOCK

from ..log.log_harness import COMMITTED, Consumer
from .crash_clients import (
    FEW,
    TIMEOUT_MS,
    Answers,
    Asker,
    Known,
    RefusedError,
    Run,
    StillRuntime,
    TransactionStep,
    Writer,
)
from .data_directory_harness import NODE

_SHARE = 0.3
"""Of the steps of a start, those before which the machine goes down once more."""
_IN_MEMORY = Path("/dev/shm")
_READ_FROM = TopicPartition("flights", 0)


def lived(root: Path, seed: int) -> Run:
    """A whole run chosen by a seed."""
    run = Run(root, seed)
    for _ in run.steps():
        """Until all clients are done."""
    return run


class Verdicts:
    """The number of checked states and the bad ones among them."""

    def __init__(self) -> None:
        self.states = self.cuts = 0
        self.lost: list[str] = []
        self.blocked: list[str] = []

    @property
    def bad_states(self) -> set[str]:
        """The states in which a problem was found."""
        return {each.partition(": ")[0] for each in self.bad}

    @property
    def bad(self) -> list[str]:
        """Every problem that was found."""
        return self.lost + self.blocked

    def explore(self, run: Run, random: Random, subsets: int, every: int = 1, enough: int = 1 << 30) -> None:
        """Go down after each step of a run, in many ways; with `every`, after some of them; until enough is found."""
        volume, seen = Volume(), set[tuple[object, ...]]()
        for step in run.recorder.steps[: run.begins]:
            volume.take(step)
        for cut, known in enumerate(run.known):
            if cut:
                volume.take(run.recorder.steps[run.begins + cut - 1])
            if (cut + every // 2) % every:
                continue
            if len(self.bad) >= enough:
                return
            self.cuts += 1
            for state in volume.states(random, subsets):
                key = (tuple(sorted(state.files.items())), state.folders, _as_key(known))
                if key not in seen:
                    seen.add(key)
                    self.judge(state, known, random, f"state {self.states}, cut {cut}")

    def again(self, run: Run, random: Random, every: int, subsets: int) -> None:
        """Go down, start, and go down again while the start puts things in order, or soon after it."""
        volume = Volume()
        for step in run.recorder.steps[: run.begins]:
            volume.take(step)
        for cut, known in enumerate(run.known[1:], 1):
            volume.take(run.recorder.steps[run.begins + cut - 1])
            if cut % every == 0:
                for state in list(volume.states(random, 1))[-2:]:
                    self._start(state, known, random, subsets, f"cut {cut} again")

    def _start(self, state: State, known: Known, random: Random, subsets: int, where: str) -> None:
        with TemporaryDirectory() as folder:
            root, recorder = Path(folder) / "data", RecordingSystem()
            state.write(root)
            _of_the_same_disk(root)
            volume = Volume.of(root, recorder.adopt(root))
            storage = DataDirectory.open(root, waits=True, node_id=NODE, system=recorder)
            broker = Broker(Settings.parse(FEW), Address("127.0.0.1", 1), StillRuntime(), storage)
            for _ in range(3):
                broker._group_fsync.flush()
            steps = list(recorder.steps)
            broker.close()
        seen = set[tuple[object, ...]]()
        for step in steps:
            volume.take(step)
            if random.random() > _SHARE:
                continue
            self.cuts += 1
            for second in volume.states(random, subsets):
                if (key := (tuple(sorted(second.files.items())), second.folders)) not in seen:
                    seen.add(key)
                    self.judge(second, known, random, f"state {self.states}, {where}")

    def judge(self, state: State, known: Known, random: Random, where: str) -> None:
        """Start a broker on one disk state and check it."""
        self.states += 1
        found = Aftermath(deepcopy(known), survive=random.random() < 0.5)
        found.look_at(state)
        self.lost += (f"{where}: {each}" for each in found.lost)
        self.blocked += (f"{where}: {each}" for each in found.blocked)


class Aftermath:
    """The start after one crash, with or without surviving clients."""

    def __init__(self, known: Known, *, survive: bool) -> None:
        self._known = known
        self._survive = survive
        self.lost: list[str] = []
        self.blocked: list[str] = []

    def look_at(self, state: State) -> None:
        """Start, let the clients continue, check what readers see."""
        with TemporaryDirectory(dir=_IN_MEMORY if _IN_MEMORY.is_dir() else None) as folder:
            root = Path(folder) / "data"
            state.write(root)
            _of_the_same_disk(root)
            try:
                storage = DataDirectory.open(root, waits=False, node_id=NODE)
                runtime = StillRuntime()
                broker = Broker(Settings.parse(FEW), Address("127.0.0.1", 1), runtime, storage)
            except EosfwError as why:
                self.blocked.append(f"refused: {why}".replace(str(root), ""))
                return
            try:
                self._go_on(broker)
                self.blocked += _held_back(broker)
                self.lost += self._missing(broker)
            finally:
                broker.close()
                shutil.rmtree(root)

    def _go_on(self, broker: Broker) -> None:
        """Surviving clients end their transactions; dead ones are replaced by a client that aborts."""
        for writer in self._known.writers:
            if self._survive and writer.producer.producer_id != -1:
                self._finish(broker, writer)
        broker.jump(TIMEOUT_MS / 1000 + 1)
        broker.run_due_tasks()
        for writer in self._known.writers:
            self._ask(broker, _aborted(deepcopy(writer)))

    def _finish(self, broker: Broker, writer: Writer) -> None:
        deed = writer.deeds[-1] if writer.deeds else None
        if deed is None or deed.answered:
            return
        if deed.asked is None and deed.written:
            if writer.in_flight is not None:
                self._ask(broker, writer.send_again())
            if deed.offset is not None:
                self._ask(broker, writer.commit_offset(deed.offset))
            deed.asked = True
        if deed.asked is not None:
            self._ask(broker, writer.end(deed, commit=deed.asked))

    def _ask(self, broker: Broker, client: Answers) -> None:
        asker = Asker(broker, client)
        try:
            while not asker.done:
                asker.step()
        except RefusedError as why:
            self.blocked.append(f"a client that lives on was refused: {why}")

    # --- what readers see

    def _missing(self, broker: Broker) -> Iterator[str]:
        seen = Counter(
            value
            for topic in broker.topics
            if not topic.internal
            for each in topic.partitions
            for _, value in Consumer(each.log, COMMITTED).drain()
        )
        for writer in self._known.writers:
            yield from _wrong_deeds(writer, seen)
            yield from self._wrong_offset(broker, writer, seen)
        yield from self._wrong_plain(broker, seen)

    def _wrong_offset(self, broker: Broker, writer: Writer, seen: Counter[bytes]) -> Iterator[str]:
        counted = [deed for deed in writer.deeds if deed.offset is not None and _counts(deed, seen)]
        wanted = counted[-1].offset if counted else -1
        found = _offset(broker, writer.group)
        if found != wanted:
            yield f"{writer.name}: its group is at {found} where {wanted} was committed"

    def _wrong_plain(self, broker: Broker, seen: Counter[bytes]) -> Iterator[str]:
        plain = self._known.plain
        for _, value, answered in plain.sent:
            if seen[value] > 1 or (answered and not seen[value]):
                yield f"{value!r} was acknowledged: {answered}, and is there {seen[value]} times"
        kept = [-1, *(offset for offset, answered in plain.offsets if answered)][-1]
        if _offset(broker, plain.name) not in (kept, *(offset for offset, answered in plain.offsets if not answered)):
            yield f"the offset {kept} that was acknowledged is {_offset(broker, plain.name)}"
        for name, (wanted, answered) in plain.topics.items():
            if answered and (broker.topics.by_name(name) is not None) != (wanted == "there"):
                yield f"topic {name} was to be {wanted}"


def _wrong_deeds(writer: Writer, seen: Counter[bytes]) -> Iterator[str]:
    for number, deed in enumerate(writer.deeds):
        times = [seen[value] for _, value in deed.written]
        who = f"{writer.name}, transaction {number} (commit {deed.asked}, answered {deed.answered})"
        if any(each > 1 for each in times):
            yield f"{who}: records more than once"
        if deed.answered and deed.asked and not all(times):
            yield f"{who}: {times.count(0)} of {len(times)} records are lost"
        if not deed.asked and any(times):
            yield f"{who}: records that nobody committed"
        if any(times) and not all(times):
            yield f"{who}: a part of it"


def _counts(deed: TransactionStep, seen: Counter[bytes]) -> bool:
    return bool(deed.asked) and (deed.answered or all(seen[value] for _, value in deed.written))


def _offset(broker: Broker, group: str) -> int:
    found = broker.groups.offsets.fetch(group, [_READ_FROM], stable=False)[_READ_FROM]
    return found.offset


def _aborted(writer: Writer) -> Answers:
    """The id's next holder writes and aborts: what was committed before must not go with it."""
    yield from writer.take_over()
    deed = TransactionStep()
    if writer.old:
        return
    yield from writer.send(_READ_FROM, b"aborted")
    yield from writer.end(deed, commit=False)


def _held_back(broker: Broker) -> Iterator[str]:
    broker.jump(TIMEOUT_MS / 1000 + 1)
    broker.run_due_tasks()
    for where, log in broker.topics.logs().items():
        if log.last_stable_offset != log.high_watermark:
            yield f"{where.topic}-{where.partition}: readers are held back at {log.last_stable_offset}"


def _of_the_same_disk(root: Path) -> None:
    """What a copy cannot have: the lock file of the broker that went down; but the machine was started again."""
    lock, path = (root / LOCK).stat(), root / "incarnation"
    if path.exists():
        kept = re.sub(rb"lock=.*", b"lock=%d:%d" % (lock.st_ino, lock.st_ctime_ns), read_checked(path))
        path.write_bytes(with_checksum(kept))
    if (running := root / ".running").exists():
        running.write_bytes(b"another run of the machine\n" + running.read_bytes().partition(b"\n")[2])


def _as_key(known: Known) -> tuple[object, ...]:
    """All that an answer could have changed."""
    deeds = tuple((len(writer.deeds), *(deed.answered for deed in writer.deeds[-2:])) for writer in known.writers)
    plain = known.plain
    return deeds, len(plain.sent), tuple(plain.sent[-1:]), tuple(plain.offsets), tuple(plain.topics.items())
