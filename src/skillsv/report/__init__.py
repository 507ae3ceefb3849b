"""The answer as people and programs read it: page, terminal, Markdown, JSON, JUnit. Pure functions of finished data."""
