"""What every form of the console is made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from eosfw_console.pages.page import Page, PageRequest
from eosfw_console.pending_changes import PendingChanges
from eosfw_console.worker_client import WorkerClient


@dataclass(frozen=True, slots=True)
class FormRequest:
    """A form that a visitor sent, after the checks that each form must pass."""

    page: PageRequest
    fields: Mapping[str, str]
    pending: PendingChanges

    @property
    def client(self) -> WorkerClient:
        """The way to the worker, in the name of the visitor."""
        return self.page.client

    @property
    def connector(self) -> str:
        """The connector that the path names."""
        return self.page.parameters["connector"]


@dataclass(frozen=True, slots=True)
class Redirect:
    """The page to load after a form has done its work, so that loading it again does nothing."""

    path: str


FormFunction = Callable[[FormRequest], Page | Redirect]
"""Does what a form asks for; RestError if it is refused."""
