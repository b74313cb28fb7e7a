"""The framework's own parts keep their contracts."""

import pytest

from eosfw.builtin.config_providers import DirectoryConfigProvider, EnvVarConfigProvider, FileConfigProvider
from eosfw.builtin.isolation import ReadCommitted, ReadUncommitted
from eosfw.builtin.offset_store import KafkaOffsetStore
from pytest_eos.contracts import ConfigProviderContract, IsolationReaderContract, OffsetStoreContract, ProvidedValues


class TestKafkaOffsetStore(OffsetStoreContract):
    @pytest.fixture
    def store(self):
        return KafkaOffsetStore()


class TestReaders(IsolationReaderContract):
    @pytest.fixture(params=[ReadCommitted, ReadUncommitted])
    def reader_class(self, request):
        return request.param


VALUES = {"user": "alice-7f3a", "password": "s3cret-91c2"}


class TestFileConfigProvider(ConfigProviderContract):
    @pytest.fixture
    def provided(self, tmp_path):
        file = tmp_path / "db.properties"
        file.write_text("".join(f"{key}={value}\n" for key, value in VALUES.items()))
        return ProvidedValues(FileConfigProvider, VALUES, str(file), {"allowed.paths": str(tmp_path)})


class TestDirectoryConfigProvider(ConfigProviderContract):
    @pytest.fixture
    def provided(self, tmp_path):
        for key, value in VALUES.items():
            (tmp_path / key).write_text(value)
        return ProvidedValues(DirectoryConfigProvider, VALUES, str(tmp_path), {"allowed.paths": str(tmp_path)})


class TestEnvVarConfigProvider(ConfigProviderContract):
    @pytest.fixture
    def provided(self, monkeypatch):
        for key, value in VALUES.items():
            monkeypatch.setenv(key, value)
        return ProvidedValues(EnvVarConfigProvider, VALUES, "", {"allowlist.pattern": "user|password"})
