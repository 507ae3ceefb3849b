"""Lets `python -m skillsv` stand in for the `skillsv` program."""

from skillsv.cli import main

main()
