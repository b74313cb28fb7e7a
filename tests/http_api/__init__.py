"""The connector that polls JSON REST APIs."""
