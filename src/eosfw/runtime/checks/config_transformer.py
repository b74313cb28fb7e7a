"""Values from config providers, which nothing but a task's own properties shows (`WorkerConfigTransformer`)."""

from __future__ import annotations

import traceback
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress

from eosfw.config import Config
from eosfw.config.secrets import secret_values
from eosfw.errors import ConfigError, EosfwError, Problem, TaskFailedError, described
from eosfw.registry import Plugins
from eosfw.registry.config_transformer import TransformedProperties, config_transformer, spellings, without_spellings
from eosfw.runtime.checks.log_redaction import redacted_log

MOST_SECRETS = 100_000
"""More than all connectors of a worker have; some are replaced each hour, and a worker may run for years."""


class WorkerConfigTransformer:
    """Replaces references by values, and knows every secret of its worker, so that no text shows one; thread-safe.

    Secrets are the values that config providers gave and those of passwords. Kafka Connect's `WorkerConfigTransformer`.
    """

    def __init__(self, worker: Config, plugins: Plugins) -> None:
        self._transformer = config_transformer(plugins, worker.given)
        self._secrets = OrderedDict[str, None]()
        """By their spellings, the newest last; changed in place, and copied to be read: each is one step, whatever
        another thread does."""
        self.remember(secret_values(worker.given))

    def transform(self, properties: Mapping[str, str]) -> TransformedProperties:
        """Replace references by values; ConfigError for a reference that has none."""
        transformed = self._transformer.transform(properties)
        self.remember([*transformed.replaced.values(), *secret_values(transformed.values)])
        return transformed

    def close(self) -> None:
        """Close the providers."""
        self._transformer.close()

    def remember(self, secrets: Iterable[str]) -> None:
        """Take these for secrets, too, such as passwords that no config provider gave."""
        for one in spellings(secrets):
            self._secrets[one] = None
            with suppress(KeyError):  # another thread has just forgotten it for newer ones
                self._secrets.move_to_end(one)
        while len(self._secrets) > MOST_SECRETS:
            self._secrets.popitem(last=False)

    def redact(self, text: str) -> str:
        """A text without any secret."""
        return without_spellings(text, tuple(self._secrets))

    def redact_exception(self, error: BaseException) -> BaseException:
        """An error whose text, and whose causes' texts, show no secret: the same one if it can be."""
        if not self._secrets:
            return error
        if isinstance(error, ConfigError):
            return ConfigError(*(Problem(one.where, self.redact(one.what)) for one in error.problems))
        for one in _with_causes(error):
            one.args = tuple(self.redact(part) if isinstance(part, str) else part for part in one.args)
        text = "".join(traceback.format_exception(error))
        # Some errors make their texts of other attributes than `args`.
        return error if self.redact(text) == text else TaskFailedError(self.redact(described(error)))

    @contextmanager
    def hidden_secrets(self) -> Iterator[None]:
        """Meanwhile let no error pass, and no log record be written, that shows a secret."""
        with redacted_log(self.redact):
            try:
                yield
            except EosfwError as error:
                shown = self.redact_exception(error)
                if shown is error:
                    raise
                raise shown from None


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
