"""An exactly-once source connector for files: lines, CSV, JSON Lines."""

from eosfw_file.connector import FileSourceConnector, FileStreamSourceConnector
from eosfw_file.task import FileSourceTask, FileStreamSourceTask

__all__ = ["FileSourceConnector", "FileSourceTask", "FileStreamSourceConnector", "FileStreamSourceTask"]
