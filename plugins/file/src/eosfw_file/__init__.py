"""An exactly-once source connector for files: lines, CSV, JSON Lines."""

from eosfw_file.connector import FileSourceConnector
from eosfw_file.task import FileSourceTask

__all__ = ["FileSourceConnector", "FileSourceTask"]
