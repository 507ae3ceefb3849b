"""Make a benchmark of its own: a `TaskSource` loads tasks and makes the agent and the verifier of a run.

`make_agent` makes the agents of skillsv by their specification, with the `AgentOptions` of a run. `digest_files` gives
the fingerprint of an agent that consists of files. `LocalEngine` runs one `Job`, a rollout, without a run folder.
"""

from skillsv.agents import AgentOptions, make_agent
from skillsv.pipeline.job import Grading, TaskSource
from skillsv.rollout import Job, LocalEngine
from skillsv.sandbox.sources import digest_files

__all__ = ["AgentOptions", "Grading", "Job", "LocalEngine", "TaskSource", "digest_files", "make_agent"]
