"""Remove each protection of `PROTECTIONS` in a copy of the source, one at a time, and run the tests that must notice.

    python tools/mutate_protections.py                  # all, some minutes; exit code 1 if a removal goes unnoticed
    python tools/mutate_protections.py --only seccomp   # those whose name contains the word

`tests/tools/test_mutate_protections.py` checks that every replacement still applies to the source.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent

SECONDS = 240
"""Time limit of the tests of one removal. Tests that do not end have noticed nothing."""


@dataclass(frozen=True, slots=True)
class Protection:
    """A protection: what it is, its file in src/skillsv, the text, the text without it, and tests that must fail."""

    name: str
    file: str
    text: str
    without: str
    tests: str

    def source(self, root: Path = ROOT) -> Path:
        """The file."""
        return root / "src" / "skillsv" / self.file

    def apply(self, root: Path) -> None:
        """Remove the protection in a copy of the source."""
        path = self.source(root)
        text = path.read_text("utf-8")
        if text.count(self.text) != 1:
            raise SystemExit(f"{self.name}: the text is {text.count(self.text)} times in {self.file}, not once.")
        path.write_text(text.replace(self.text, self.without), "utf-8")


ATTACKS = "tests/attacks/"

PROTECTIONS = (
    # Pull requests
    Protection(
        "check: paths of the base",
        "sandbox/git_files.py",
        'if any(part in {"", ".", ".."}',
        'if False and any(part in {"", ".", ".."}',
        "tests/sandbox/test_git_files.py::test_a_tree_whose_path_leaves_the_folder_is_refused",
    ),
    Protection(
        "check: links of the base",
        "sandbox/git_files.py",
        'if kind == "blob" and mode in REGULAR:',
        'if kind == "blob":',
        "tests/sandbox/test_git_files.py::test_files_are_written_with_bytes_and_modes_and_without_links",
    ),
    Protection(
        "check: size of the base",
        "sandbox/git_files.py",
        "if len(files) > MAX_FILES or",
        "if False and",
        "tests/sandbox/test_git_files.py::test_too_many_or_too_large_files_are_refused",
    ),
    Protection(
        "check: table of an untrusted file",
        "settings/load.py",
        "if path == user_file() or is_trusted(path, digest):",
        "if True:",
        "tests/cli/test_check.py::test_an_untrusted_file_cannot_name_tasks_and_agent",
    ),
    Protection(
        "check: text in Markdown",
        "report/markdown.py",
        "{shown.translate(_ENTITIES)}",
        "{shown}",
        "tests/report/test_check_text.py::test_untrusted_text_changes_nothing_but_itself",
    ),
    Protection(
        "check: links in SARIF",
        "report/compiled_json.py",
        '.replace("](", "] (")',
        "",
        "tests/report/test_check_files.py::test_sarif_messages_hold_no_links_and_no_control_characters",
    ),
    # Verifiers
    Protection(
        "home of the verifier",
        "tasks/verifiers/external.py",
        "env = private_environment(private)",
        "env = private_environment(workspace)",
        f"{ATTACKS}test_verifier_escape.py::test_verifier_has_home_and_tmpdir_outside_the_workspace",
    ),
    Protection(
        "links out of the workspace",
        "rollout/engine.py",
        "await remove_agent_links(workspace)",
        "pass",
        f"{ATTACKS}test_verifier_escape.py::test_link_to_the_expected_answer_is_removed_before_verifying",
    ),
    Protection(
        "pipes in the workspace",
        "sandbox/links.py",
        "return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))",
        "return False",
        f"{ATTACKS}test_verifier_escape.py::test_pipe_in_place_of_the_answer_does_not_stop_the_verifier",
    ),
    Protection(
        "files of a task in our folders",
        "sandbox/workspace.py",
        "if is_own_folder(name):",
        "if False:",
        f"{ATTACKS}test_verifier_escape.py::test_file_of_a_task_object_cannot_become_the_home_of_the_agent",
    ),
    Protection(
        "sandbox of Harbor tests",
        "tasks/verifiers/harbor.py",
        "run = tests.run_sandboxed if options.sandbox else",
        "run = tests.run_unprotected if options.sandbox else",
        f"{ATTACKS}test_verifier_escape.py::test_harbor_test_sees_no_file_of_the_user",
    ),
    Protection(
        "network of Harbor tests",
        "tasks/verifiers/harbor.py",
        "network=self.options.network and self.asks_network,",
        "network=True,",
        f"{ATTACKS}test_verifier_escape.py::test_harbor_test_has_no_network_unless_the_task_asks_and_the_user_allows",
    ),
    # Settings and consent
    Protection(
        "guarded settings beside a skill",
        "settings/load.py",
        "if guarded and refused:",
        "if False:",
        f"{ATTACKS}test_untrusted_settings.py::test_trusted_settings_are_read_until_the_file_changes",
    ),
    Protection(
        "dropping guarded settings of untrusted files",
        "settings/load.py",
        "return {name: value for name, value in table.items() if name not in names}",
        "return table",
        f"{ATTACKS}test_more_consent_attempts.py::test_settings_beside_the_skill_are_refused_or_left_out",
    ),
    Protection(
        "settings that only flags set",
        "settings/load.py",
        "for name in FLAGS_ONLY:",
        "for name in ():",
        f"{ATTACKS}test_sandboxed_commands.py::test_no_file_chooses_the_sandbox",
    ),
    Protection(
        "verifiers of untrusted tasks",
        "tasks/untrusted.py",
        "untrusted = _untrusted(code_files(path, guarded, folder)) if guarded else []",
        "untrusted: list[Path] = []",
        f"{ATTACKS}test_untrusted_settings.py::test_untrusted_evals_of_a_skill_run_no_code",
    ),
    Protection(
        "programs of untrusted tasks",
        "tasks/untrusted.py",
        "untrusted = _untrusted(python_sources(file)) if file.is_file() and skill_folder_of(file) else []",
        "untrusted: list[Path] = []",
        f"{ATTACKS}test_untrusted_settings.py::test_untrusted_program_that_makes_tasks_is_not_run",
    ),
    Protection(
        "digest of trusted files",
        "trust.py",
        "return _read_trusted().get(str(path.resolve())) == digest",
        "return was_trusted(path)",
        f"{ATTACKS}test_untrusted_settings.py::test_trusted_settings_are_read_until_the_file_changes",
    ),
    Protection(
        "no import before consent",
        "tasks/verifiers/external.py",
        "        self._arguments: tuple[str, ...] = ()\n",
        "        self._arguments: tuple[str, ...] = ()\n        self.load()\n",
        f"{ATTACKS}test_untrusted_settings.py::test_user_code_is_not_imported_before_consent",
    ),
    Protection(
        "hidden target",
        "sandbox/user_views.py",
        'return {"id": task.id, "input": task.input, "files": list(task.files), "metadata": dict(task.metadata)}',
        "return full_task_fields(task)",
        "tests/agents/test_hidden_target.py",
    ),
    # Stale reuse
    Protection(
        "forwarded values in the key",
        "agents/fingerprints.py",
        "if self._forwarded:",
        "if False:",
        f"{ATTACKS}test_stale_reuse.py::test_another_forwarded_value_is_another_agent",
    ),
    Protection(
        "salt of forwarded values",
        "agents/fingerprints.py",
        "return hmac.new(salt, text, hashlib.sha256).hexdigest()",
        'return hmac.new(b"fixed", text, hashlib.sha256).hexdigest()',
        f"{ATTACKS}test_more_reuse_attempts.py::test_the_hash_of_a_forwarded_value_needs_the_salt_of_the_user",
    ),
    Protection(
        "agent that changes during a run",
        "pipeline/session.py",
        "changed = find_change(agent, verifier)",
        "changed = None",
        f"{ATTACKS}test_stale_reuse.py::test_an_agent_that_changes_during_the_run_stops_it",
    ),
    Protection(
        "folder arguments in the key",
        "sandbox/covered_files.py",
        "return covered + CoveredFiles(basic=tuple(basic), further=_labelled(files))",
        "return CoveredFiles(basic=tuple(basic))",
        f"{ATTACKS}test_stale_reuse.py::test_a_changed_file_of_the_agent_is_another_agent",
    ),
    # Output folders
    Protection(
        "run folder as output",
        "rendering/output.py",
        "if holds_run(folder):",
        "if False:",
        f"{ATTACKS}test_output_folders.py::test_run_folder_as_output_is_refused_with_the_reason",
    ),
    Protection(
        "mark of output folders",
        "rendering/output.py",
        "if not any(folder.iterdir()) or _is_unchanged(folder):",
        "if True:",
        f"{ATTACKS}test_output_folders.py::test_output_that_the_user_changed_is_kept",
    ),
    Protection(
        "folder of the user as run folder",
        "rollout/run_folder.py",
        "if not holds_run(place):",
        "if False:",
        f"{ATTACKS}test_output_folders.py::test_run_is_not_written_to_a_folder_of_the_user",
    ),
    Protection(
        "patch of the user",
        "rendering/output.py",
        "if not marked:",
        "if False:",
        f"{ATTACKS}test_output_folders.py::test_patch_file_of_the_user_is_not_overwritten",
    ),
    # Failures, limits, keys
    Protection(
        "empty answers are failures",
        "agents/model/failures.py",
        'return AgentFailure("the model gave an empty answer.", kind=FailureKind.EMPTY_ANSWER)',
        "return None",
        "tests/agents/model/test_failures.py::test_a_missing_answer_is_retried_and_never_scored",
    ),
    Protection(
        "unknown finish reasons are failures",
        "agents/model/failures.py",
        "if reason not in _NORMAL_REASONS:",
        "if False:",
        "tests/agents/model/test_failures.py::test_a_missing_answer_is_retried_and_never_scored",
    ),
    Protection(
        "cut answers are failures",
        "rollout/engine.py",
        "if outcome.ending is Ending.CUT and not job.score_cut:",
        "if False:",
        "tests/agents/model/test_failures.py::test_a_cut_answer_is_a_failure_that_is_not_retried",
    ),
    Protection(
        "redaction of outcomes",
        "rollout/engine.py",
        "outcome = _redact_outcome(await self._agent.run(skill, job.task, job.key.replicate, workspace))",
        "outcome = await self._agent.run(skill, job.task, job.key.replicate, workspace)",
        f"{ATTACKS}test_leaked_keys.py::test_answer_and_transcript_of_any_agent_are_redacted_before_verifying",
    ),
    Protection(
        "redaction of messages",
        "rollout/engine.py",
        "return redact(text)[:MESSAGE_LIMIT]",
        "return text[:MESSAGE_LIMIT]",
        f"{ATTACKS}test_leaked_keys.py::test_message_of_a_failed_agent_is_redacted_before_it_is_shortened",
    ),
    # Kernel
    Protection(
        "seccomp filter",
        "sandbox/bubblewrap.py",
        '*(() if filter_number is None else ("--seccomp", str(filter_number))),',
        "",
        f"{ATTACKS}test_kernel_calls.py::test_dangerous_system_call_is_refused_before_its_arguments_are_read",
    ),
    Protection(
        "session keyring",
        "sandbox/keyring_program.py",
        "    join_new_session_keyring()\n    os.execvp",
        "    os.execvp",
        f"{ATTACKS}test_kernel_calls.py::test_program_has_a_session_keyring_of_its_own_also_without_the_filter",
    ),
    Protection(
        "network namespace",
        "sandbox/bubblewrap.py",
        '*("bwrap", "--unshare-all", ',
        '*("bwrap", "--unshare-all", "--share-net", ',
        "tests/sandbox/test_bubblewrap.py",
    ),
    # Parsers and sizes
    Protection(
        "depth of frontmatter",
        "model/frontmatter.py",
        "if len(sizes.open_values) > MAX_DEPTH:",
        "if False:",
        f"{ATTACKS}test_hostile_frontmatter.py::test_deep_nesting_does_not_end_the_process",
    ),
    Protection(
        "aliases of frontmatter",
        "model/frontmatter.py",
        "if sizes.total > values:",
        "if False:",
        f"{ATTACKS}test_hostile_frontmatter.py::test_a_bomb_of_aliases_is_a_problem_and_is_not_written_out",
    ),
    Protection(
        "sizes of a skill",
        "compiler/read.py",
        "bytes_left -= _check_size(root, entry.path, bytes_left, len(files))",
        "bytes_left -= 0",
        f"{ATTACKS}test_huge_files.py::test_many_sparse_files_and_many_small_ones_are_refused",
    ),
    Protection(
        "bytes of a working folder",
        "sandbox/folder_quota.py",
        "if size > self.max_bytes:",
        "if False:",
        f"{ATTACKS}test_huge_files.py",
    ),
    Protection(
        "number of files of a working folder",
        "sandbox/folder_quota.py",
        "if files > self.max_files:",
        "if False:",
        f"{ATTACKS}test_huge_files.py",
    ),
    Protection(
        "paid score after trouble",
        "rollout/engine.py",
        "if not attempt.scored:",
        "if True:",
        "tests/rollout/test_engine.py::test_a_paid_score_survives_an_error_while_the_workspace_is_removed",
    ),
    Protection(
        "time limit of searches",
        "agents/model/tools.py",
        "with anyio.move_on_after(folder.limits.seconds) as clock:",
        "with anyio.move_on_after(None) as clock:",
        f"{ATTACKS}test_slow_search.py",
    ),
    Protection(
        "verifier called again with the same answer",
        "rollout/engine.py",
        "return VERIFIER_ATTEMPTS if failure.kind is FailureKind.VERIFIER or failure.kind.worth_retrying else 1",
        "return 1",
        f"{ATTACKS}test_verifier_trouble.py::test_verifier_that_fails_once_is_called_again_with_the_same_answer",
    ),
    Protection(
        "unfinished runs are provisional",
        "pipeline/valuation.py",
        "folder.keep_notes(folder.notes(), provisional=True)",
        "pass",
        f"{ATTACKS}test_interrupted_runs.py::test_a_killed_run_is_provisional",
    ),
    Protection(
        "sentence for a full disk",
        "rollout/ledger_file.py",
        "if _is_full(path, code, error):",
        "if False:",
        "tests/rollout/test_ledger.py::test_every_error_of_a_full_disk_is_the_sentence_of_the_ledger",
    ),
    Protection(
        "escapes of messages",
        "cli/printing.py",
        "print(escape_text(message), file=sys.stderr)",
        "print(message, file=sys.stderr)",
        f"{ATTACKS}test_terminal_escapes.py",
    ),
    Protection(
        "escapes of results",
        "cli/printing.py",
        "        text = escape_text(text)\n",
        "        pass\n",
        f"{ATTACKS}test_terminal_escapes.py",
    ),
    Protection(
        "programs that leave the session",
        "sandbox/termination.py",
        'related or entry in _read_proc(number, "environ") or _mark(number) == mark:',
        "related:",
        f"{ATTACKS}test_left_programs.py::test_program_that_an_agent_leaves_ends_with_the_rollout",
    ),
    # Stored files
    Protection(
        "checksums of records",
        "rollout/records.py",
        "if number <= len(checksums) and checksums[number - 1] != checksum(line):",
        "if False:",
        f"{ATTACKS}test_damaged_runs.py::test_a_digit_that_changed_in_the_records_is_noticed",
    ),
    Protection(
        "missing lines of records",
        "rollout/records.py",
        "if number < len(checksums):",
        "if False:",
        f"{ATTACKS}test_damaged_runs.py::test_lines_that_are_gone_are_noticed_and_lines_without_a_checksum_are_read",
    ),
    Protection(
        "records that contradict themselves",
        "rollout/records.py",
        "            _check_parts(record)\n",
        "",
        f"{ATTACKS}test_damaged_runs.py::test_a_record_that_contradicts_itself_is_one_sentence",
    ),
    Protection(
        "shape of manifests",
        "rollout/run_folder.py",
        "            msgspec.convert(manifest, _ManifestShape)\n",
        "",
        f"{ATTACKS}test_damaged_runs.py::test_a_manifest_of_the_wrong_shape_is_one_sentence",
    ),
    Protection(
        "base URL",
        "agents/server_address.py",
        'if parts.username or parts.password or parts.query or "#" in url or "?" in url:',
        "if False:",
        "tests/agents/model/test_client.py",
    ),
    Protection(
        "folders of living runs",
        "sandbox/left_folders.py",
        "        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)\n        folders",
        "        folders",
        f"{ATTACKS}test_interrupted_runs.py::test_folders_of_a_killed_run_are_removed_and_those_of_a_living_one_kept",
    ),
    Protection(
        "folders of killed runs",
        "rollout/engine.py",
        "await anyio.to_thread.run_sync(remove_left_folders)",
        "pass",
        f"{ATTACKS}test_interrupted_runs.py::test_the_next_run_removes_what_a_killed_one_left",
    ),
    # The sandbox on request
    Protection(
        "files of the user in the sandbox of commands",
        "sandbox/user_command.py",
        "read_only=sandbox.read_only,",
        "read_only=tuple({path.parent for path in sandbox.read_only}),",
        f"{ATTACKS}test_sandboxed_commands.py::test_sandboxed_agent_reaches_nothing_of_the_user",
    ),
    Protection(
        "sandboxed verifiers",
        "tasks/verifiers/external.py",
        "container=options.container) if options.sandbox_commands else None",
        "container=options.container) if False else None",
        f"{ATTACKS}test_sandboxed_commands.py::test_sandboxed_verifier_reads_the_workspace_and_no_other_file",
    ),
    Protection(
        "network of containers",
        "sandbox/containers.py",
        '"bridge" if options.network else "none"',
        '"bridge"',
        "tests/sandbox/test_containers.py::test_container_has_no_network_no_rights_and_all_limits",
    ),
    Protection(
        "rights in containers",
        "sandbox/containers.py",
        '"--cap-drop", "ALL"',
        '"--cap-drop", "NONE"',
        "tests/sandbox/test_containers.py::test_container_has_no_network_no_rights_and_all_limits",
    ),
    Protection(
        "host of the live page",
        "view/guard.py",
        'if headers.get("host", "") not in self._hosts:',
        "if False:",
        "tests/view/test_guard.py::test_another_host_is_refused",
    ),
    Protection(
        "origin of the live page",
        "view/guard.py",
        'if "origin" in headers and headers["origin"] not in self._origins:',
        "if False:",
        "tests/view/test_guard.py::test_another_origin_is_refused",
    ),
    Protection(
        "token of the live page",
        "view/guard.py",
        'if not hmac.compare_digest(token.encode("utf-8", "replace"), self._token):',
        "if False:",
        "tests/view/test_guard.py::test_a_missing_or_wrong_token_is_refused",
    ),
    Protection(
        "stop requests of other programs",
        "view/guard.py",
        'if method == "POST" and headers.get("origin") not in self._origins:',
        "if False:",
        "tests/view/test_guard.py::test_a_stop_request_needs_the_origin_of_the_page",
    ),
    Protection(
        "origin of reports in the live page",
        "view/run_pages.py",
        "\"sandbox allow-scripts allow-downloads; frame-ancestors 'none'\"",
        "\"frame-ancestors 'none'\"",
        "tests/view/test_guard.py::test_reading_changes_no_file_of_a_run",
    ),
)


def is_noticed(protection: Protection) -> bool:
    """Whether its tests fail without it."""
    with tempfile.TemporaryDirectory(prefix="skillsv-mutated-") as name:
        root = Path(name)
        shutil.copytree(ROOT / "src", root / "src", ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copytree(ROOT / "examples", root / "examples")
        protection.apply(root)
        words = ["-m", "pytest", "-q", "-x", "-n", "0", "-p", "no:cacheprovider"]
        env = {**os.environ, "PYTHONPATH": str(root / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
        try:
            done = subprocess.run(
                [sys.executable, *words, *protection.tests.split()],
                cwd=ROOT,
                env=env,
                capture_output=True,
                timeout=SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return False
    if done.returncode not in {0, 1}:
        raise SystemExit(f"{protection.name}: the tests did not run.\n{done.stdout.decode()[-2000:]}")
    return done.returncode == 1


def main() -> int:
    """Try all removals; 1 if one goes unnoticed."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--only", default="", help="protections whose name contains this word")
    word = options.parse_args().only
    chosen = [protection for protection in PROTECTIONS if word in protection.name]
    unnoticed = []
    for protection in chosen:
        noticed = is_noticed(protection)
        print(f"{'noticed' if noticed else 'UNNOTICED'}  {protection.name}", flush=True)
        unnoticed += [] if noticed else [protection.name]
    print(f"{len(chosen)} protections removed, {len(unnoticed)} unnoticed")
    return 1 if unnoticed else 0


if __name__ == "__main__":
    sys.exit(main())
