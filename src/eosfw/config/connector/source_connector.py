"""The properties of every source connector (Kafka Connect's `SourceConnectorConfig`)."""

from __future__ import annotations

from eosfw.config.connector.error_handling import ERROR_KEYS
from eosfw.config.connector.topic_creation import TOPIC_CREATION, TOPIC_CREATION_PREFIX
from eosfw.config.connector.transforms import PREDICATES, TRANSFORMS
from eosfw.config.definition.config_def import Boolean, Choice, Int, Long, String
from eosfw.config.definition.kinds import Aliases, ConnectorName, Identity, PluginClass, TopicName
from eosfw.config.definition.layered import LayeredDef
from eosfw.config.definition.version_range import PluginVersion
from eosfw.config.parts import CONVERTERS, FENCER, OFFSET_STORE

OVERRIDE_PREFIXES = ("producer.override.", "consumer.override.", "admin.override.")
OFFSETS_TOPIC = "offsets.storage.topic"
SERVERS = "bootstrap.servers"
BOUNDARY = "transaction.boundary"
INTERVAL = "transaction.boundary.interval.ms"
COMMIT_OVERLAP = "transaction.commit.overlap"
REQUIREMENT = "exactly.once.support"
IDENTITY = "eosfw.identity"
TASKS_MAX = "tasks.max"
TASKS_MAX_ENFORCE = "tasks.max.enforce"
CONNECTOR_VERSION = "connector.plugin.version"
RELOAD_ACTION = "config.action.reload"

_COMMON, _EXACTLY_ONCE = "Common", "Exactly Once Support"
"""Kafka Connect's groups of properties."""

SOURCE_CONNECTOR = LayeredDef(
    ConnectorName(
        "name",
        doc="name of the connector, unique in its worker group",
        group=_COMMON,
        width="MEDIUM",
        display_name="Connector name",
    ),
    String(
        "connector.class",
        doc="name of the connector's class; `eosfw plugins` lists what is installed",
        group=_COMMON,
        width="LONG",
        display_name="Connector class",
    ),
    PluginVersion(
        CONNECTOR_VERSION,
        None,
        "the version of the connector that must be installed, or a range of versions such as [1.0,2.0); default: any. "
        "So are `plugin.version` of a converter, a transformation and a predicate, behind their prefixes",
        group=_COMMON,
        width="MEDIUM",
        display_name="Connector version",
    ),
    Int(
        TASKS_MAX,
        1,
        "how many tasks at most",
        at_least=1,
        at_most=10_000,
        importance="HIGH",
        group=_COMMON,
        width="SHORT",
        display_name="Tasks max",
    ),
    Boolean(
        TASKS_MAX_ENFORCE,
        True,
        "fail a connector that splits its work into more tasks than tasks.max says, and such tasks of earlier; false: "
        "warn, and run them",
        importance="LOW",
        group=_COMMON,
        width="SHORT",
        display_name="Enforce tasks max",
    ),
    Choice(
        RELOAD_ACTION,
        "restart",
        "restart: what was started with values of config providers is restarted with new ones when they have expired, "
        "by the providers' own word; none: it keeps them",
        among=("none", "restart"),
        importance="LOW",
        group=_COMMON,
        width="MEDIUM",
        display_name="Reload Action",
    ),
    Choice(
        REQUIREMENT,
        "requested",
        "required: refuse to start unless worker and connector are both exactly once",
        among=("requested", "required"),
        group=_EXACTLY_ONCE,
        width="SHORT",
        display_name="Exactly once support",
    ),
    Choice(
        BOUNDARY,
        "poll",
        "end a transaction behind each poll, at an interval, or where the connector says",
        among=("poll", "interval", "connector"),
        group=_EXACTLY_ONCE,
        width="MEDIUM",
        display_name="Transaction Boundary",
        dependents=(INTERVAL,),
    ),
    Long(
        INTERVAL,
        None,
        "with interval boundaries; default: the worker's offset.flush.interval.ms",
        at_least=0,
        importance="LOW",
        group=_EXACTLY_ONCE,
        width="SHORT",
        display_name="Transaction boundary interval",
    ),
    Boolean(
        COMMIT_OVERLAP,
        False,
        "with poll or interval boundaries: poll while the transaction before commits; a task's `commit` is then called "
        "after that poll. Without effect for tasks that define `commit_record`",
        importance="LOW",
        group=_EXACTLY_ONCE,
    ),
    *TOPIC_CREATION,
    TopicName(
        OFFSETS_TOPIC,
        None,
        "topic of this connector's source offsets, on the cluster that it writes to; created, compacted, if it does "
        "not exist; default: the worker's offset.storage.topic",
        importance="LOW",
        group="offsets.topic",
        width="LONG",
        display_name="Offsets topic",
    ),
    String(OFFSET_STORE, None, "as for the worker, for this connector alone; default: the worker's"),
    String(FENCER, None, "as for the worker, for this connector alone; default: the worker's"),
    Aliases(
        TRANSFORMS,
        (),
        "transformations of records in the order in which they apply, by names of your own",
        importance="LOW",
        group="Transforms",
        width="LONG",
        display_name="Transforms",
    ),
    Aliases(
        PREDICATES,
        (),
        "predicates that choose the records of a transformation, by names of your own",
        importance="LOW",
        group="Predicates",
        width="LONG",
        display_name="Predicates",
    ),
    *(
        PluginClass(
            key,
            None,
            "as for the worker, for this connector alone; default: the worker's",
            importance="LOW",
            group=_COMMON,
            width="SHORT",
            display_name=f"{key.replace('.', ' ').capitalize()} class",
        )
        for key in CONVERTERS
    ),
    *ERROR_KEYS,
    Identity(
        IDENTITY,
        None,
        "what identifies a record for the verdict: none, headers, value, field:NAME; "
        "default: headers on a backend that sends them in batches (memory, kafka-python), else none",
    ),
    prefixes=(
        *OVERRIDE_PREFIXES,
        TOPIC_CREATION_PREFIX,
        *(f"{key}." for key in (OFFSET_STORE, FENCER, *CONVERTERS, TRANSFORMS, PREDICATES)),
    ),
)
