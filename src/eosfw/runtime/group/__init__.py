"""The place of a worker in its group: membership, the elected leader's assignments, following them."""
