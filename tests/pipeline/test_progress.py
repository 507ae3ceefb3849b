import io
from dataclasses import replace

from skillsv.model.events import (
    AgentStarted,
    ChainFinished,
    Note,
    RolloutFinished,
    RolloutRetried,
    RunFinished,
    RunStarted,
    UnitsDecided,
)
from skillsv.model.rollout import FailureKind, Usage
from skillsv.pipeline.progress import Counts, LiveProgress, PlainProgress, one_line, progress


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def finished(score=1.0, *, reused=False, usage=None, failure=None):
    return RolloutFinished(
        task="t",
        tree="earlier" if reused else "x",
        why="chain",
        score=score,
        reused=reused,
        usage=usage or Usage(),
        duration=1.0,
        failure=failure,
    )


START = RunStarted(run="abc", chains=4, expected_rollouts=100)


def follow(events, every=0.0):
    stream, clock = io.StringIO(), Clock()
    listener = PlainProgress(stream, clock)
    for event in events:
        clock.now += every
        listener(event)
    return stream.getvalue().splitlines()


def test_the_last_line_counts_every_kind_of_answer():
    lines = follow(
        [
            START,
            finished(usage=Usage(input_tokens=1000, output_tokens=50, usd=0.25)),
            finished(0.0, usage=Usage(input_tokens=1000, output_tokens=50, usd=0.25)),
            finished(reused=True, usage=Usage(usd=99.0)),
            finished(None, failure=FailureKind.CRASH),
            RolloutRetried(task="t", attempt=1, kind=FailureKind.RATE_LIMIT, message="slow", wait=1.0),
            ChainFinished(index=0, evaluated=3, truncated=True),
            RunFinished(reason="done"),
        ]
    )
    assert lines[0] == "run abc: 4 chains, about 100 rollouts"
    assert lines[-1].startswith(
        "done: 1/4 chains · 2 rollouts · 1 reused · 1 failed · 1 retried (rate-limit) · 2,100 tokens, $0.50"
    )


def test_a_log_gets_a_line_every_ten_seconds_not_one_per_rollout():
    lines = follow([START, *[finished()] * 60], every=1.0)
    assert len(lines) == 1 + 6
    assert lines[1] == "0/4 chains · 10 rollouts · 0 reused · 0 failed · about 2 min left"


def test_the_first_retry_of_a_kind_gets_a_line_the_rest_are_counted():
    retry = RolloutRetried(task="t", attempt=1, kind=FailureKind.CRASH, message="boom", wait=1.0)
    lines = follow([START, *[retry] * 50])
    assert lines[1:] == ["crash on task t, trying again: boom"]


def test_time_left_is_unknown_until_something_was_paid_for():
    (_, end) = follow([START, *[finished(reused=True)] * 20, RunFinished(reason="done")], every=0.1)
    assert "left" not in end


def test_control_characters_of_an_agent_do_not_reach_the_terminal():
    lines = follow([START, Note(message="a\x1b[2Jb\r\nc")])
    assert lines[1] == "a [2Jb  c"
    assert len(one_line("x" * 5000)) == 300


class Gone(io.StringIO):
    writes = 0

    def write(self, text):
        self.writes += 1
        raise BrokenPipeError


def test_a_closed_stream_does_not_raise():
    stream = Gone()
    listener = PlainProgress(stream)
    listener(START)
    listener(Note(message="x"))
    assert stream.writes > 0


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_terminal_gets_a_bar_that_ends_full(monkeypatch):
    monkeypatch.setenv("COLUMNS", "160")
    monkeypatch.setenv("TERM", "xterm")
    stream = Terminal()
    with progress(stream) as listener:
        assert isinstance(listener, LiveProgress)
        for event in (START, Note(message="take [red]care"), *[finished()] * 7, RunFinished(reason="done")):
            listener(event)
    text = stream.getvalue()
    assert "take [red]care" in text
    assert "100%" in text
    assert "7 rollouts" in text


def test_the_bar_of_an_agent_stays_when_the_next_one_starts(monkeypatch):
    monkeypatch.setenv("COLUMNS", "160")
    monkeypatch.setenv("TERM", "xterm")
    stream = Terminal()
    with progress(stream) as listener:
        for event in (AgentStarted(agent="one"), START, *[finished()] * 7, RunFinished(reason="done")):
            listener(event)
        for event in (AgentStarted(agent="two"), Note(message="Agent 2 of 2"), START, RunFinished(reason="no answer")):
            listener(event)
    last = stream.getvalue().rpartition("Agent 2 of 2")[2]
    assert "100%" in last
    assert "7 rollouts" in last


def test_quiet_prints_nothing_and_a_pipe_gets_plain_lines():
    stream = io.StringIO()
    with progress(stream, quiet=True) as listener:
        listener(START)
    assert stream.getvalue() == ""
    with progress(stream) as listener:
        assert isinstance(listener, PlainProgress)


def test_a_line_says_how_many_lines_of_the_skill_are_decided():
    events = [UnitsDecided(decided=9, units=96), finished(), UnitsDecided(decided=41, units=96), finished()]
    last = follow([RunStarted(run="abc", chains=0, expected_rollouts=100), *events], every=60.0)[-1]
    assert last.startswith("41 of 96 lines decided · ")


def test_answers_that_this_run_paid_for_are_not_called_reused():
    counts = Counts(lambda: 0.0)
    paid = RolloutFinished(task="t1", tree="a", why="", score=1.0, reused=False, usage=Usage(), duration=1.0)
    counts.add(paid)
    counts.add(replace(paid, reused=True))
    counts.add(replace(paid, tree="b", reused=True))
    assert counts.line() == "1 rollout · 1 reused · 0 failed"
    assert counts.answered == 3


def test_each_agent_of_several_has_counts_of_its_own():
    first = [AgentStarted(agent="one"), START, UnitsDecided(decided=9, units=96), *[finished()] * 5]
    second = [AgentStarted(agent="two"), START, finished(None), RunFinished(reason="no answer")]
    assert follow([*first, RunFinished(reason="done"), *second])[-1] == (
        "no answer: 0/4 chains · 0 rollouts · 0 reused · 1 failed"
    )


def test_an_answer_that_is_reused_twice_counts_once_for_each_agent_and_replicate():
    counts = Counts(lambda: 0.0)
    stored = RolloutFinished(task="t1", tree="a", why="", score=1.0, reused=True, usage=Usage(), duration=1.0)
    for event in (stored, stored, replace(stored, replicate=1), replace(stored, agent="other"), stored):
        counts.add(event)
    assert counts.line() == "0 rollouts · 3 reused · 0 failed"
    assert counts.answered == 5


def test_lines_of_a_log_end_once_and_hold_whole_notes():
    stream = io.StringIO()
    listener = PlainProgress(stream, lambda: 0.0)
    listener(Note(message="word " * 100 + "end."))
    listener(RunFinished(reason="the budget is used up."))
    note, end = stream.getvalue().splitlines()
    assert note.endswith("end.")
    assert end.startswith("the budget is used up: 0 rollouts")
