"""Decisions, pure: from what is known to what is done next. Nothing here asks AWS."""
