"""Writes what a worker says of itself to the members topic."""

from __future__ import annotations

from eosfw.errors import EosfwError
from eosfw.protocols import TransactionalProducer
from eosfw.records import ProducerRecord
from eosfw.runtime.group.services import MembershipServices
from eosfw.runtime.storage.kafka_based_log import READ_TIMEOUT
from eosfw.state.group.member_records import WorkerRecord, worker_record
from eosfw.state.steps import StepEvent, TaskStep


class WorkerRecordWriter:
    """Keeps this worker's record up to date; one thread writes. Any worker may write its own, without a privilege."""

    def __init__(self, services: MembershipServices) -> None:
        self._services = services
        self._producer: TransactionalProducer | None = None

    def write_if_changed(self, acknowledged: int) -> None:
        """Write the record, unless the members topic says the same; also after the leader has removed it."""
        services, settings = self._services, self._services.settings
        wanted = WorkerRecord(settings.worker, settings.url, settings.support, settings.version, acknowledged)
        known = services.members.workers().get(settings.worker)
        if known == wanted:
            return
        if known is not None and known.acknowledged != acknowledged:
            runtime = services.runtime
            step = TaskStep.ACKNOWLEDGE_ASSIGNMENT
            services.announce(StepEvent(step, runtime.now(), runtime.wall(), "", detail={"count": acknowledged}))
        self._write(wanted)
        services.members.read_to_end()

    def _write(self, wanted: WorkerRecord) -> None:
        services = self._services
        producer = self._producer or services.backend.producer(None, properties=services.settings.producer_properties)
        self._producer = None
        key, value = worker_record(wanted)
        try:
            producer.send(ProducerRecord(services.members.partition.topic, value, key, partition=0))
            producer.flush(READ_TIMEOUT)
        except EosfwError:
            producer.close(0)
            raise
        self._producer = producer

    def close(self) -> None:
        """Close the producer."""
        if self._producer is not None:
            self._producer.close(0)
            self._producer = None
