"""Values from config providers, which nothing but a task's own properties shows (`WorkerConfigTransformer`)."""

from __future__ import annotations

import traceback
from collections.abc import Iterator, Mapping

from eosfw.config import Config
from eosfw.errors import ConfigError, Problem, TaskFailedError, described
from eosfw.registry import Plugins
from eosfw.registry.config_transformer import TransformedProperties, config_transformer, redacted


class WorkerConfigTransformer:
    """Replaces references by values, and knows every value that it gave, so that no text shows one; thread-safe.

    Kafka Connect's `WorkerConfigTransformer`.
    """

    def __init__(self, worker: Config, plugins: Plugins) -> None:
        self._transformer = config_transformer(plugins, worker.given)
        self._given: frozenset[str] = frozenset()

    def transform(self, properties: Mapping[str, str]) -> TransformedProperties:
        """Replace references by values; ConfigError for a reference that has none."""
        transformed = self._transformer.transform(properties)
        self._given |= frozenset(transformed.replaced.values())
        return transformed

    def close(self) -> None:
        """Close the providers."""
        self._transformer.close()

    def redact(self, text: str) -> str:
        """A text without any value that was given."""
        return redacted(text, self._given)

    def redact_config_error(self, error: ConfigError) -> ConfigError:
        """The same problems without any value that was given."""
        return ConfigError(*(Problem(one.where, self.redact(one.what)) for one in error.problems))

    def redact_exception(self, error: BaseException) -> BaseException:
        """An error whose text, and whose causes' texts, show no value that was given: the same one if it can be."""
        if not self._given:
            return error
        for one in _with_causes(error):
            one.args = tuple(self.redact(part) if isinstance(part, str) else part for part in one.args)
        text = "".join(traceback.format_exception(error))
        # Some errors make their texts of other attributes than `args`.
        return error if self.redact(text) == text else TaskFailedError(self.redact(described(error)))


def _with_causes(error: BaseException) -> Iterator[BaseException]:
    waiting, seen = [error], set()
    while waiting:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        yield one
        waiting += [other for other in (one.__cause__, one.__context__) if other is not None]
        waiting += getattr(one, "exceptions", ())
