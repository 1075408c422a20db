"""The command line: ``dalembert run four-bar``."""

from dalembert.cli.app import main

__all__ = ["main"]
