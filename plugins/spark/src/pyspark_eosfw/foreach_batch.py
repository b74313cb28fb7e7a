"""What a query gives to `writeStream.foreachBatch`."""

from eosfw_spark.sink.shared.shared_transaction_sink import SharedTransactionSink

__all__ = ["SharedTransactionSink"]
