"""Episodes in processes that stay warm: who plays what, what is remembered, and what happens when one dies or hangs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import anyio
import psutil
import pytest

from skillsv.errors import AgentFailure
from skillsv.model.rollout import FailureKind
from skillsv_bench.alfworld.games import Games
from skillsv_bench.alfworld.tasks import STEPS


@pytest.fixture
def files(tmp_path):
    files = [tmp_path / f"{name}.game" for name in "abc"]
    for file in files:
        file.write_text("toy")
    return files


def process_of(scene) -> int:
    return int(scene.observation.split()[0])


def done_in(scene) -> list[str]:
    return scene.observation.split()[1:]


async def played(games: Games, file: Path, *actions: str):
    async with games.episode(file) as episode:
        for action in actions:
            await episode.act(action)
        return episode.scene, episode.result


@pytest.mark.heavy
def test_an_episode_is_won_by_what_the_environment_says(toy_games, files):
    scene, result = anyio.run(played, toy_games(), files[0], "look", "win")
    assert done_in(scene) == ["look", "win"]
    assert (result.won, result.steps, result.actions) == (True, 2, ("look", "win"))


@pytest.mark.heavy
def test_an_episode_is_over_after_its_steps(toy_games, files):
    async def run():
        async with toy_games().episode(files[0]) as episode:
            while not episode.over:
                await episode.act("look")
            return episode.result

    result = anyio.run(run)
    assert (result.won, result.steps) == (False, STEPS)


@pytest.mark.heavy
def test_a_process_stays_for_the_next_episode_and_begins_anew(toy_games, files):
    games = toy_games(cached_scenes=0)
    first, _ = anyio.run(played, games, files[0], "look")
    second, _ = anyio.run(played, games, files[1], "go")  # in another event loop
    assert process_of(first) == process_of(second)
    assert done_in(second) == ["go"]


@pytest.mark.heavy
def test_a_process_that_knows_the_game_is_preferred(toy_games, files):
    games = toy_games(cached_scenes=0)

    async def run():
        async with games.episode(files[0]) as a, games.episode(files[1]) as b:
            pair = process_of(await a.act("1")), process_of(await b.act("1"))
        again = [process_of((await played(games, files[n], "2"))[0]) for n in (0, 0, 1, 1, 0)]
        return pair, again

    (a, b), again = anyio.run(run)
    assert a != b
    assert again == [a, a, b, b, a]


@pytest.mark.heavy
def test_there_are_never_more_processes_than_slots(toy_games, files):
    games = toy_games(slots=1)
    seen: set[int] = set()

    async def one(number: int) -> None:
        scene, _ = await played(games, files[number % 3], f"step {number}")
        seen.add(process_of(scene))

    async def run():
        async with anyio.create_task_group() as group:
            for number in range(6):
                group.start_soon(one, number)

    anyio.run(run)
    assert len(seen) == 1


@pytest.mark.heavy
def test_cached_scenes_are_reused_and_new_actions_are_played(toy_games, files):
    games = toy_games()
    anyio.run(played, games, files[0], "x", "y")
    games.close()
    again, _ = anyio.run(played, games, files[0], "x", "y")
    assert games._idle == []  # nobody had to play
    further, result = anyio.run(played, games, files[0], "x", "y", "z")
    assert process_of(further) != process_of(again)
    assert done_in(further) == ["x", "y", "z"]  # the new process was brought to where the episode stood
    assert result.actions == ("x", "y", "z")


@pytest.mark.heavy
def test_episodes_that_mix_cached_and_new_scenes_are_complete(toy_games, files):
    games = toy_games()

    async def run():
        async with games.episode(files[0]) as slow:
            await slow.act("a")
            await played(games, files[0], "a", "b", "c")
            await slow.act("b")  # known meanwhile
            return await slow.act("d")

    assert done_in(anyio.run(run)) == ["a", "b", "d"]


@pytest.mark.heavy
def test_a_file_that_was_changed_is_another_game(toy_games, files):
    games = toy_games()
    before, _ = anyio.run(played, games, files[0])
    games.close()
    files[0].write_text("another toy")
    after, _ = anyio.run(played, games, files[0])
    assert process_of(before) != process_of(after)


@pytest.mark.heavy
@pytest.mark.parametrize(("action", "words"), [("die", "ended unexpectedly"), ("raise", "ValueError: toy error")])
def test_a_process_that_dies_is_a_failure_and_is_replaced(toy_games, files, action, words):
    games = toy_games()
    with pytest.raises(AgentFailure, match=words) as caught:
        anyio.run(played, games, files[0], action)
    assert caught.value.kind == FailureKind.CRASH
    scene, _ = anyio.run(played, games, files[0], "look")
    assert done_in(scene) == ["look"]


@pytest.mark.heavy
def test_a_process_that_hangs_is_ended(toy_games, files):
    games = toy_games(timeout=5.0)

    async def run():
        async with games.episode(files[0]) as episode:
            process = process_of(episode.scene)
            episode._process._worker._timeout = 0.05
            with pytest.raises(AgentFailure, match="did not answer") as caught:
                await episode.act("hang")
            return process, caught.value.kind

    process, kind = anyio.run(run)
    assert kind == FailureKind.TIMEOUT
    assert not psutil.pid_exists(process)


@pytest.mark.heavy
def test_a_cancelled_episode_leaves_no_process_that_works(toy_games, files):
    games = toy_games()

    async def run():
        seen = []
        with anyio.move_on_after(None) as scope:
            async with games.episode(files[0]) as episode, anyio.create_task_group() as group:
                seen.append(process_of(episode.scene))
                group.start_soon(episode.act, "hang")
                await anyio.lowlevel.checkpoint()
                scope.cancel()
        return seen[0]

    process = anyio.run(run)
    assert not psutil.pid_exists(process)
    assert games._idle == []


@pytest.mark.heavy
def test_an_episode_cancelled_between_steps_returns_its_process(toy_games, files):
    games = toy_games()

    async def run():
        with anyio.CancelScope() as scope:
            async with games.episode(files[0]):
                scope.cancel()
                await anyio.lowlevel.checkpoint()

    anyio.run(run)
    assert len(games._idle) == 1


PARENT = """
import sys
from pathlib import Path
import anyio
from skillsv_bench.alfworld.games import Games

async def run():
    async with Games(program=(sys.executable, sys.argv[1])).episode(Path(sys.argv[2])) as episode:
        print(episode.scene.observation, flush=True)
        await episode.act("hang")

anyio.run(run)
"""


@pytest.mark.heavy
def test_a_game_ends_when_whoever_plays_it_is_killed(files):
    toy = Path(__file__).with_name("toy_worker.py")
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, str(toy), str(files[0])], stdout=subprocess.PIPE, text=True
    )
    game = psutil.Process(int(parent.stdout.readline().split()[0]))
    os.kill(parent.pid, signal.SIGKILL)
    parent.wait()
    gone, _ = psutil.wait_procs([game], timeout=30)
    assert gone
