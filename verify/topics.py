"""The name until 0.2 of what `verify` gives itself: `from verify import Figure, Highlight, Panel, Topic`."""

from verify.statements.topics import Figure, Highlight, Panel, Topic

__all__ = ["Figure", "Highlight", "Panel", "Topic"]
