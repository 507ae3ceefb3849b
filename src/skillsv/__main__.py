"""Runs the `skillsv` program as `python -m skillsv`."""

from skillsv.cli import main

main()
