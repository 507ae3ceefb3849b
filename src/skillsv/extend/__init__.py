"""What a package that extends skillsv uses besides the names of `import skillsv`.

task_sources   tasks, agents and verifiers of a benchmark; the entry point `skillsv.task_sources` offers them
model_clients  ask a language model in a conversation of one's own
sandbox        run programs that a model wrote, with limits
commands       flags, output and consent; the entry point `skillsv.commands` adds commands
runs           plan, run, reopen and confirm with a task source, a listener and a budget
settings       settings from flags and defaults, in shares
estimators     the parts of an estimate, for studies that put them together in another way
shrinking      the plan, the choice and the proof of a shrink, for studies that play them in memory
comparison     baselines, areas and tests, for comparisons of methods
figures        the drawings of the report, and the parts to draw others

The modules only export. `skillsv_bench` uses nothing of skillsv but these, the public names, `skillsv.model` and
`skillsv.errors`.
"""
