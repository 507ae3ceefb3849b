"""Values a small skill through one real coding agent, in a network namespace that has only loopback. Prints JSON.

    unshare -n python isolated_run.py NAME FOLDER

All addresses are routed to loopback, where every packet is recorded: an attempt to reach another host, or to look up
its name, is seen and reaches nothing. FOLDER is an empty folder for the skill, the runs and the workspaces.
"""

from __future__ import annotations

import json
import os
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import anyio

sys.path.insert(0, str(Path(__file__).parent))
from scripted_server import SKILL_NAME, ScriptedServer, scripted_server

import skillsv as sv
from skillsv.agents import AgentOptions, ChatOptions, make_agent
from skillsv.errors import SkillSVError
from skillsv.model.task import Task
from skillsv.sandbox import fresh_workspace

SKILL = f"""---
name: {SKILL_NAME}
description: Codes of the harbor. Use it for every question about a code.
---

- Code crane is 41.
- The harbor is old.
- Code ferry is 77.
"""
TASKS = [
    {
        "id": word,
        "input": f"What is the code of the {word}? Reply with the number.",
        "target": code,
        "verifier": "contains",
    }
    for word, code in (("crane", "41"), ("ferry", "77"))
]
MODELS = {"claude-code": "m1", "codex": "m1", "gemini": "gemini-2.5-pro", "opencode": "local/m1", "pi": "local/m1"}
PATHS = {"claude-code": "", "codex": "/v1", "gemini": "", "opencode": "/v1", "pi": "/v1"}
SKILL_DIRS = (".claude/skills", ".agents/skills", ".codex/skills", ".gemini/skills", ".opencode/skills", ".pi/skills")
ALLOWED = {"127.0.0.1", "::1"}


def close_network() -> socket.socket:
    """Route everything to loopback, and open a socket that sees every packet."""
    for words in ("link set lo up", "route add local default dev lo", "-6 route add local default dev lo"):
        subprocess.run(["ip", *words.split()], check=not words.startswith("-6"), capture_output=True)
    packets = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(3))
    packets.bind(("lo", 0))
    return packets


def record(packets: socket.socket, contacted: set[str]) -> None:
    """Collect the destinations of all packets that are neither TCP to 127.0.0.1 nor answers to such."""
    while True:
        data = packets.recv(65536)
        if data[0] >> 4 == 4:
            address, protocol = socket.inet_ntop(socket.AF_INET, data[16:20]), data[9]
        else:
            address, protocol = socket.inet_ntop(socket.AF_INET6, data[24:40]), data[6]
        if address not in ALLOWED or protocol != socket.IPPROTO_TCP:
            contacted.add(f"{address} protocol {protocol}")


def value(spec: str, server: ScriptedServer, url: str, place: Path, *, sandbox: bool) -> dict[str, object]:
    """The values of the skill, and whether it was opened in rollouts with it."""
    run = sv.value(
        str(place / SKILL_NAME), tasks=TASKS, agent=spec, base_url=url, run_dir=place / "run", panel_b=0, method="chain",
        orders=1, window=2, tolerance=None, operators=("delete",), max_rollouts=24, jobs=2, attempts=1,
        no_sandbox=not sandbox,
    )  # fmt: skip
    connection = sqlite3.connect(place / "run" / "ledger.sqlite")
    opened = connection.execute("select opened, score is null, input_tokens from rollout").fetchall()
    connection.close()
    return {
        "values": [round(unit.net.value, 6) for unit in run.valuation.units if unit.kind != "trigger"],
        "rollouts": run.valuation.rollouts.spent,
        "failed": run.valuation.rollouts.failed,
        "opened": sorted({str(row[0]) for row in opened}),
        "without_usage": sum(not row[2] for row in opened),
        "requests": len(server.requests),
    }


def refuse(spec: str, server: ScriptedServer, url: str, place: Path, *, sandbox: bool) -> str:
    """What a run says whose provider refuses the key."""
    server.status = 401
    try:
        run = sv.value(
            str(place / SKILL_NAME), tasks=TASKS, agent=spec, base_url=url, run_dir=place / "refused", panel_b=0,
            max_rollouts=8, jobs=1, attempts=1, no_sandbox=not sandbox,
        )  # fmt: skip
    except SkillSVError as error:
        return f"{type(error).__name__}: {error.what}"
    finally:
        server.status = 200
    return f"a result: {run!r}"


def leak(spec: str, server: ScriptedServer, url: str) -> bool:
    """Whether the bare agent, without a sandbox, is told of a skill in a parent folder of its workspace."""
    parent = Path(tempfile.gettempdir())
    for name in SKILL_DIRS:
        (parent / name / "decoy").mkdir(parents=True)
        (parent / name / "decoy" / "SKILL.md").write_text("---\nname: decoy\ndescription: The decoy.\n---\n\nx\n")
    agent = make_agent(spec, AgentOptions(chat=ChatOptions(base_url=url, sandbox=False)))
    task = Task(id="t", input="What is the code of the crane?")
    before = len(server.bodies)

    async def main() -> None:
        async with fresh_workspace(task) as folder:
            await agent.run(None, task, 0, folder)

    anyio.run(main)
    assert len(server.bodies) > before
    return "decoy" in json.dumps(server.bodies[before:])


def main(name: str, place: Path) -> None:
    """Run everything with one program."""
    contacted: set[str] = set()
    threading.Thread(target=record, args=(close_network(), contacted), daemon=True).start()
    tempfile.tempdir = str(place / "tmp")
    Path(tempfile.tempdir).mkdir()
    (place / SKILL_NAME).mkdir()
    (place / SKILL_NAME / "SKILL.md").write_text(SKILL)
    spec, sandbox = f"{name}:{MODELS[name]}", os.environ.get("SKILLSV_TEST_SANDBOX") == "1"
    with scripted_server() as server:
        url = server.url + PATHS[name]
        found = value(spec, server, url, place, sandbox=sandbox)
        found["refused"] = refuse(spec, server, url, place, sandbox=sandbox)
        found["leak"] = leak(spec, server, url)
    sys.stdout.write(json.dumps({**found, "contacted": sorted(contacted)}))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
