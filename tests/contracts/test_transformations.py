"""The framework's own transformations and predicates keep their contracts."""

import pytest
from tests.contracts.sample_transformations import PREDICATES, TRANSFORMATIONS, WRONG, records_for

from pytest_eos.contracts import ChosenRecords, PredicateContract, TransformationContract, TransformedRecords
from pytest_eos.environment.config.installed_plugins import installed_plugins


class TestTransformations(TransformationContract):
    @pytest.fixture(params=TRANSFORMATIONS, ids=lambda one: f"{one[0]}-{'-'.join(one[1])}")
    def transformed(self, request):
        name, properties = request.param
        wrong = [WRONG[name]] if name in WRONG else []
        kind = type(installed_plugins().transformation(name))
        return TransformedRecords(kind, properties, records_for(name), wrong)


class TestPredicates(PredicateContract):
    @pytest.fixture(params=PREDICATES, ids=lambda one: f"{one[0]}-{'-'.join(one[1].values())}")
    def chosen(self, request):
        name, properties = request.param
        return ChosenRecords(type(installed_plugins().predicate(name)), properties)
