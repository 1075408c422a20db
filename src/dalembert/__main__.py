"""``python -m dalembert``."""

from dalembert.cli import main

main()
