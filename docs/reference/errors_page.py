"""Write docs/reference/errors.md from the errors themselves; a test finds the page out of date."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path

from eosfw import errors
from eosfw.errors import AbortableError, EosfwError, FatalError, IndefiniteOutcomeError, RetriableError

PAGE = Path(__file__).with_name("errors.md")
HEAD = """# Errors

Every error that eosfw raises on purpose is a class of `eosfw.errors`. Its text says what happened, to what, and what to
do next. Its class says what the caller must do, the *reaction*:

| reaction | class | what a caller does |
|---|---|---|
| retry | `RetriableError` | nothing happened: make the same call again |
| abort | `AbortableError` | abort the transaction, go on with the same producer |
| close | `FatalError` | close the producer, never use it again |
| discard | `IndefiniteOutcomeError` | nobody knows whether it happened: throw the producer away, read the committed \
offsets, go on from there |
| none | | the call cannot succeed until somebody changes something |

Workers do all this by themselves. The reaction matters to authors of backends, and to users of a producer. The last
column is for who runs a pipeline. [Exit codes](exit-codes.md) are those of a command that ends with the error.

This page is made from the code by `python docs/reference/errors_page.py`.

| error | reaction | exit code | meaning | what to do |
|---|---|---|---|---|
"""
REACTIONS = {IndefiniteOutcomeError: "discard", RetriableError: "retry", AbortableError: "abort", FatalError: "close"}
REMEDIES = {
    "RetriableError": "Wait. If it stays, look at the cluster.",
    "AbortableError": "Read the text. The worker fails the task after it aborted.",
    "FatalError": "Read the text. The task fails; the next run goes on behind the last commit.",
    "IndefiniteOutcomeError": "Nothing. The worker asks the cluster what was committed, and goes on behind it.",
    "IllegalStateError": "Mend the code that calls the producer: see `eosfw.protocols.TransactionalProducer`.",
    "ProducerFencedError": "Nothing, if a newer run took over. Otherwise a transaction ran too long: raise"
    " `producer.override.transaction.timeout.ms`, or commit more often.",
    "InvalidProducerEpochError": "As for `ProducerFencedError`.",
    "InvalidTxnStateError": "Start the run again. If it comes back, somebody else uses the transactional id.",
    "InvalidPidMappingError": "Start the run again. The cluster forgets transactional ids that are unused for long"
    " (`transactional.id.expiration.ms`).",
    "InvalidTransactionTimeoutError": "Lower `producer.override.transaction.timeout.ms`, or raise the broker's"
    " `transaction.max.timeout.ms`.",
    "OutOfOrderSequenceError": "Run again: it goes on behind the last commit.",
    "ConcurrentTransactionsError": "Nothing. The call is made again.",
    "AuthenticationError": "Read the text, correct the security properties.",
    "SaslAuthenticationError": "Correct `sasl.username` and `sasl.password`, or the user on the cluster.",
    "UnsupportedSaslMechanismError": "Set `sasl.mechanism`, or `security.protocol`, to one that the text names.",
    "SslAuthenticationError": "Read the text: it names the certificate, and the property to correct.",
    "TransactionalIdAuthorizationError": "Let the principal Write and Describe the transactional id.",
    "ClusterAuthorizationError": "Let the principal do ClusterAction, or Alter, on the cluster.",
    "TransactionalIdNotFoundError": "Correct the transactional id: `eosfw txn list` shows those that are known.",
    "TransactionNotFoundError": "Nothing, if it ended meanwhile. Otherwise look again at what is open:"
    " `eosfw txn hanging`.",
    "UnsupportedError": "Use a client, or a cluster, that can do what the text names.",
    "TopicAuthorizationError": "Let the principal use the topic.",
    "GroupAuthorizationError": "Let the principal use the group.",
    "GroupIdNotFoundError": "Correct the group's id, or leave it: there is nothing to delete.",
    "GroupNotEmptyError": "Stop the group's members, or wait until their sessions end.",
    "CommitFailedError": "Nothing. The member joins its group again; another one has taken over its work.",
    "RebalanceInProgressError": "Nothing. The call is made again once the rebalance is over.",
    "InconsistentGroupProtocolError": "Stop the other group, or give this one a `group.id` of its own.",
    "UnknownTopicOrPartitionError": "Create the topic, or correct its name.",
    "InvalidRecordError": "Give the record a key, or a time that the topic takes (`message.timestamp.after.max.ms`).",
    "RecordTooLargeError": "Make records smaller, or raise `max.message.bytes` of the topic.",
    "TopicExistsError": "Nothing, if the topic is the one you wanted.",
    "ClusterUnavailableError": "Check that the address is right and the broker runs.",
    "SourceUnavailableError": "Start the source, or correct the connector's properties.",
    "ReadStalledError": "Wait for the open transaction that the text names to end, or fence its owner.",
    "ConfigError": "Correct every line that the text names.",
    "PluginError": "Install, or repair, the distribution that the text names; `eosfw plugins` lists them all.",
    "DamagedDataError": "Look at the place that the text names. Restore the source, or give the connector a new name.",
    "DataError": "correct the value, or the schema, of the field that the text names",
    "SupersededError": "Nothing. The newer run does the work.",
    "PrivilegedWriteError": "Nothing, if another run of the group took over. Otherwise start the run again.",
    "TaskFailedError": "Mend the connector or its data. The next run goes on behind the last commit.",
    "StepFailedError": "Mend the step, then `eosfw run --steps-only`.",
    "InterruptedRunError": "Run again: it goes on behind the last commit.",
    "NotFoundError": "Look at the name: `GET /connectors` and `eosfw connectors list` tell what there is.",
    "AlreadyExistsError": "Change it with `PUT /connectors/NAME/config`, or choose another name.",
    "BadRequestError": "Correct the request; the message says what is wrong with it.",
    "RequestRefusedError": "Requests between workers need the session key of their group: let workers send them.",
    "RebalanceNeededError": "Repeat the request when the group has rebalanced.",
    "RequestTimeoutError": "Look whether it took effect, then repeat it.",
    "NotLeaderError": "Send the request to the leader; the REST interface does so itself.",
    "NotAssignedError": "Send the request to the worker that runs the task; the REST interface does so itself.",
}


def page() -> str:
    """The whole page."""
    return HEAD + "".join(f"{row}\n" for row in _rows())


def classes() -> list[type[EosfwError]]:
    """Every error, in the order of the module, its root left out."""
    found = [value for value in vars(errors).values() if inspect.isclass(value) and issubclass(value, EosfwError)]
    return [one for one in found if one is not EosfwError]


def _rows() -> Iterator[str]:
    for one in classes():
        reaction = next((word for kind, word in REACTIONS.items() if issubclass(one, kind)), "none")
        meaning = " ".join((inspect.getdoc(one) or "").split())
        yield f"| `{one.__name__}` | {reaction} | {int(one.exit_code)} | {meaning} | {REMEDIES[one.__name__]} |"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
