"""Contacts in a run: impacts, rest and release, stick and slip."""
