from skillsv.pipeline.run_facts import continue_command, value_command

MANIFEST = {
    "agent": {"spec": "command:./agent.sh --fast", "fingerprint": "command/1:abc"},
    "settings": {"method": "auto", "orders": 12, "seed": 7, "resolution": 0.02, "operators": ["delete"]},
    "about": {
        "skill": "/home/me/my skill", "tasks": "/home/me/tasks.jsonl", "folder": "/home/me", "kit": "",
        "settings": {"max_rollouts": 400, "jobs": 8},
    },
}  # fmt: skip


def test_the_command_has_paths_from_its_folder_and_changed_settings_in_points():
    assert value_command(MANIFEST, ".skillsv/my-skill") == (
        "skillsv value 'my skill' --tasks tasks.jsonl --agent 'command:./agent.sh --fast' --run-dir .skillsv/my-skill "
        "--seed 7 --resolution 2 --operators delete --max-rollouts 400"
    )


def test_a_skill_that_was_a_text_has_no_command():
    assert value_command({**MANIFEST, "about": {**MANIFEST["about"], "skill": ""}}, "run") == ""


def test_continuing_doubles_a_limit_that_was_reached():
    assert continue_command(MANIFEST, "run", 100).endswith(" --max-rollouts 400")
    assert continue_command(MANIFEST, "run", 399).endswith(" --max-rollouts 800")
