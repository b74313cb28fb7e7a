"""The handlers of the REST interface: plain functions of a request and a herder (Connect's `rest.resources`)."""
