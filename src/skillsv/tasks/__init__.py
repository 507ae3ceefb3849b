"""Tasks: reading them from files, splitting them into panels, drawing windows, and scoring answers by verifiers."""

from skillsv.tasks.delivered import refuse_delivered_tasks
from skillsv.tasks.files import cover_judges
from skillsv.tasks.harbor import ignored_builds
from skillsv.tasks.load import load_tasks, read_tasks, tasks_file, tasks_folder
from skillsv.tasks.objects import as_text, object_id, tasks_from_objects
from skillsv.tasks.panels import NO_PANELS, KnownPanels, draw_window, split_panels
from skillsv.tasks.verifiers import make_verifier

__all__ = [
    "NO_PANELS",
    "KnownPanels",
    "as_text",
    "cover_judges",
    "draw_window",
    "ignored_builds",
    "load_tasks",
    "make_verifier",
    "object_id",
    "read_tasks",
    "refuse_delivered_tasks",
    "split_panels",
    "tasks_file",
    "tasks_folder",
    "tasks_from_objects",
]
