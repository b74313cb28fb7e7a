"""What a test runs: connectors on workers, queries of Spark, pipelines; and what they committed."""
