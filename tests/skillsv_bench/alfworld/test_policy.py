"""The housekeeper in a little house of our own: with all it was told it wins, and each gap is the mistake it says."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from skillsv_bench.alfworld.agents import read_action
from skillsv_bench.alfworld.policy import COMPETENCES, Goal, RuleBasedPlayer, read_goal
from skillsv_bench.alfworld.process import Scene
from skillsv_bench.alfworld.tasks import STEPS

ALL = frozenset(COMPETENCES)


@pytest.mark.parametrize(
    ("sentence", "goal"),
    [
        ("Your task is to: put some mug on sidetable.", Goal(thing="mug", place="sidetable")),
        ("Your task is to: put a pencil in desk.", Goal(thing="pencil", place="desk")),
        ("Your task is to: put two book in desk.", Goal(thing="book", place="desk", count=2)),
        ("Your task is to: find two cd and put them in drawer.", Goal(thing="cd", place="drawer", count=2)),
        ("Your task is to: put a clean pan in shelf.", Goal(thing="pan", place="shelf", change="clean")),
        ("Your task is to: put a hot egg in fridge.", Goal(thing="egg", place="fridge", change="heat")),
        ("Your task is to: cool some pot and put it in shelf.", Goal(thing="pot", place="shelf", change="cool")),
        ("Your task is to: heat some egg and put it in fridge.", Goal(thing="egg", place="fridge", change="heat")),
        ("Your task is to: look at cd under the desklamp.", Goal(thing="cd", place="desklamp", lamp=True)),
        ("Your task is to: examine the bowl with the desklamp.", Goal(thing="bowl", place="desklamp", lamp=True)),
        ("Your task is to: tidy up.", None),
    ],
)
def test_goals_in_upstreams_words(sentence, goal):
    assert read_goal(sentence) == goal


@dataclass
class House:
    """Places with things in them; some are closed. Won when what is wanted lies where it should, as it should."""

    things: dict[str, list[str]]
    wanted: tuple[str, str, str, int] = ("", "", "", 1)
    closed: set[str] = field(default_factory=set)
    at: str = ""
    held: str = ""
    changed: dict[str, str] = field(default_factory=dict)
    lit: bool = False

    def scene(self) -> Scene:
        actions = [f"go to {place}" for place in self.things if place != self.at] + ["look"]
        if self.at in self.closed:
            actions.append(f"open {self.at}")
        elif self.at:
            actions += [
                f"take {each} from {self.at}" for each in self.things[self.at] if not self.held and "lamp" not in each
            ]
            actions += [f"use {each}" for each in self.things[self.at] if "lamp" in each]
            actions += [f"move {self.held} to {self.at}"] if self.held else []
        appliance = {"sinkbasin": "clean", "microwave": "heat", "fridge": "cool"}.get(self.at.partition(" ")[0])
        if appliance and self.held:
            actions.append(f"{appliance} {self.held} with {self.at}")
        return Scene(observation="", actions=tuple(sorted(actions)), won=self.won)

    @property
    def won(self) -> bool:
        thing, place, change, count = self.wanted
        if place == "desklamp":
            return self.lit and self.held.startswith(f"{thing} ")
        there = [each for at, these in self.things.items() if at.startswith(f"{place} ") for each in these]
        return sum(each.startswith(f"{thing} ") and self.changed.get(each, "") == change for each in there) >= count

    def act(self, action: str) -> None:
        if action not in self.scene().actions:
            return
        verb, _, rest = action.partition(" ")
        if verb == "go":
            self.at = rest.removeprefix("to ")
        elif verb == "open":
            self.closed.discard(self.at)
        elif verb == "take":
            self.held = rest.partition(" from ")[0]
            self.things[self.at].remove(self.held)
        elif verb == "move":
            self.things[self.at].append(self.held)
            self.held = ""
        elif verb in {"clean", "heat", "cool"}:
            self.changed[self.held] = verb
        elif verb == "use":
            self.lit = True


SURFACES = {f"shelf {number}": [] for number in range(1, 9)}


def house(task: str) -> tuple[House, str]:
    """One house per kind of task."""
    match task:
        case "put":
            things = {"armchair 1": [], "bed 1": ["pen 1"], "desk 1": [], "desk 2": ["pencil 3"]}
            return House(things, ("pencil", "desk", "", 1), at="desk 1"), "put a pencil in desk."
        case "far":
            things = {**SURFACES, "sofa 1": [], "shelf 8": ["cup 1"]}
            return House(things, ("cup", "sofa", "", 1)), "put some cup on sofa."
        case "closed":
            things = {"bed 1": [], "cabinet 1": [], "cabinet 2": ["cup 1"], "safe 1": []}
            return House(
                things, ("cup", "safe", "", 1), closed={"cabinet 1", "cabinet 2", "safe 1"}
            ), "put a cup in safe."
        case "cabinets":
            cabinets = {f"cabinet {number}": [] for number in range(1, 31)}
            things = {**cabinets, "desk 1": ["mug 1"], "sofa 1": []}
            return House(things, ("mug", "sofa", "", 1), closed=set(cabinets)), "put a mug in sofa."
        case "clean":
            things = {"desk 1": [], "shelf 1": ["pan 1"], "sinkbasin 1": []}
            return House(things, ("pan", "desk", "clean", 1)), "put a clean pan in desk."
        case "two":
            things = {"armchair 1": [], "bed 1": ["book 2", "book 1"], "sofa 1": []}
            return House(things, ("book", "sofa", "", 2)), "put two book in sofa."
        case _:
            things = {"bed 1": [], "desk 1": ["desklamp 1"], "sofa 1": ["cd 1"]}
            return House(things, ("cd", "desklamp", "", 1)), "look at cd under the desklamp."


def wins(task: str, can: frozenset[str]) -> bool:
    home, goal = house(task)
    player = RuleBasedPlayer(goal=read_goal(f"Your task is to: {goal}"), can=can)
    for _ in range(STEPS):
        if home.won:
            break
        home.act(read_action(player.reply(home.scene())))
    return home.won


TASKS = ("far", "closed", "cabinets", "clean", "two", "lamp")


@pytest.mark.parametrize("task", TASKS)
def test_one_who_was_told_everything_wins(task):
    assert wins(task, ALL)


@pytest.mark.parametrize("task", TASKS)
def test_one_who_was_told_nothing_loses(task):
    assert not wins(task, frozenset())


@pytest.mark.parametrize(
    ("task", "competence"),
    [
        *((task, "format") for task in TASKS),
        *((task, "search") for task in ("far", "closed", "clean", "two", "lamp")),
        ("closed", "open"),
        ("cabinets", "likely"),
        ("far", "ledger"),
        ("far", "count"),
        ("two", "count"),
        ("clean", "appliances"),
        ("clean", "transform"),
        ("lamp", "lamp"),
        *((task, "admissible") for task in ("far", "closed", "clean", "two")),
    ],
)
def test_a_gap_loses_the_games_that_need_it(task, competence):
    assert not wins(task, ALL - {competence})


@pytest.mark.parametrize(
    ("task", "competence"),
    [("lamp", "admissible"), ("far", "open"), ("clean", "lamp"), ("two", "appliances"), ("closed", "transform")],
)
def test_a_gap_is_forgiven_where_it_does_not_matter(task, competence):
    assert wins(task, ALL - {competence})


def test_the_careless_take_what_is_merely_of_the_same_sort():
    things = {"bed 1": ["cup 1"], "desk 1": ["mug 1"], "sofa 1": []}
    taken = {}
    for can in (ALL, ALL - {"exact"}):
        home = House({place: list(these) for place, these in things.items()}, ("mug", "sofa", "", 1))
        player = RuleBasedPlayer(goal=Goal(thing="mug", place="sofa"), can=can)
        for _ in range(8):
            home.act(read_action(player.reply(home.scene())))
        taken[can] = home.things["sofa 1"]
    assert list(taken.values()) == [["mug 1"], ["cup 1"]]


def test_one_who_does_not_understand_the_goal_looks_on():
    player = RuleBasedPlayer(goal=None, can=ALL)
    scene = Scene(observation="", actions=("look",))
    assert {read_action(player.reply(scene)) for _ in range(5)} == {"look"}
