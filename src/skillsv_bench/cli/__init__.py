"""`skillsv bench`: one module a subcommand."""
