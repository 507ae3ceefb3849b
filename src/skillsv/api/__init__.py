"""The Python API. `import skillsv` offers its public names; the modules here may move.

skill        compile, lint, render, orders; `Skill`
inputs       tasks, agents and verifiers that a program passes, as the pipeline reads them
consent      agreement to what a run spends
plan         what a valuation will cost; `Plan`
run          value a skill, or read a run; `Run`
valuation    the result; `Valuation`
shorten      a shorter skill, and its proof on held-out tasks; `ShorterSkill`, `Proof`
shrink       a shorter skill and its proof from one budget; `ShrunkSkill`
sync         the plain functions, which also work while an event loop runs
"""
