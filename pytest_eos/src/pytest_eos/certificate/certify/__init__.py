"""The command `eosfw certify`: certify an installed connector that has no tests of its own."""
