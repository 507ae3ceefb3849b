"""SkillSV inside prompt and skill optimizers, one module for each: values as feedback, and prune and confirm.

Each module needs the package of its name (`pip install 'skillsv[gepa]'`). All of them use the public names of `skillsv`
alone. `docs/optimizers.md` has an example of each.
"""
