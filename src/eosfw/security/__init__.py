"""TLS, SASL and what a first contact with a cluster tells about them (`org.apache.kafka.common.security`)."""

from eosfw.config.addresses import Address
from eosfw.loopback import is_loopback
from eosfw.security.check import check_connection
from eosfw.security.endpoint_opener import endpoint_opener
from eosfw.security.first_authentication import FirstAuthentication, FirstAuthentications, confirmed_check
from eosfw.security.foreign_protocol import API_VERSIONS_REQUEST, first_bytes, is_kafka, is_tls, protocol_of
from eosfw.security.oauthbearer import TokenProvider
from eosfw.security.pkcs12 import authorities_pem
from eosfw.security.rights import explained, group_of_offsets, kafka_acls_command, needs, with_refusal
from eosfw.security.sasl import log_in
from eosfw.security.tls import client_context, require_usable_files

__all__ = [
    "API_VERSIONS_REQUEST",
    "Address",
    "FirstAuthentication",
    "FirstAuthentications",
    "TokenProvider",
    "authorities_pem",
    "check_connection",
    "client_context",
    "confirmed_check",
    "endpoint_opener",
    "explained",
    "first_bytes",
    "group_of_offsets",
    "is_kafka",
    "is_loopback",
    "is_tls",
    "kafka_acls_command",
    "log_in",
    "needs",
    "protocol_of",
    "require_usable_files",
    "with_refusal",
]
