"""What the documentation site needs besides Sphinx's own extensions."""
