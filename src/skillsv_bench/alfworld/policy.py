"""A rule-based player of ALFWorld's games, which makes a mistake for each competence that it lacks.

It reads the goal, tours the room, open surfaces first, takes the thing, changes it and delivers it. Each competence
that it lacks causes a mistake that people and models make; the environment decides whether the mistake matters:

    format      its replies name no action, so all it does is look
    search      it stays where it is
    open        it leaves everything closed
    likely      in a room of many cabinets and drawers it walks from door to door until its time is up
    ledger      it forgets where it has been, and starts its tour again after a few misses
    exact       it takes a thing that is merely of the same sort, such as a cup for a mug
    appliances  it does not know where things are cleaned, heated or cooled
    transform   it delivers the thing as it is
    lamp        it looks at the thing without a lamp
    count       it stops after the first of two things, and gives up a search after a few places
    admissible  it says `put X in/on Y` where the environment only admits `move X to Y`
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, field
from itertools import cycle

from skillsv_bench.alfworld.process import NO_EFFECT, Scene

COMPETENCES = (
    "format",
    "search",
    "open",
    "likely",
    "ledger",
    "exact",
    "appliances",
    "transform",
    "lamp",
    "count",
    "admissible",
)
"""The competences that the player can have."""

APPLIANCES = {"clean": "sinkbasin", "heat": "microwave", "cool": "fridge"}
"""The kind of place where each change is made."""

CLOSED = ("cabinet", "drawer", "fridge", "microwave", "safe", "box")
"""Kinds of places that are opened, and so cost two steps to look into: the last on a sensible tour."""

CONFUSABLE_KINDS = (
    {"cup", "mug", "glassbottle"},
    {"pot", "pan", "kettle"},
    {"knife", "butterknife", "fork", "spoon", "ladle", "spatula"},
    {"plate", "bowl"},
    {"apple", "tomato", "potato", "egg", "lettuce"},
    {"book", "newspaper", "laptop"},
    {"pen", "pencil"},
    {"soapbar", "soapbottle", "spraybottle", "dishsponge", "cloth"},
    {"cd", "creditcard", "keychain"},
    {"alarmclock", "watch", "statue", "vase"},
    {"saltshaker", "peppershaker"},
    {"cellphone", "remotecontrol"},
)
"""Kinds of things that a player without the competence `exact` confuses."""

MANY_DOORS = 16
"""With more closed places than this, a player without the competence `likely` does not find the thing."""

FORGETFUL_AFTER = 4
"""Places after which a player without the competence `ledger` starts its tour again."""

GIVES_UP_AFTER = 3
"""Places after which a player without the competence `count` ends a search."""

Moves = Generator[str, Scene, None]
"""Yields actions and is sent the scene after each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """What is wanted: this many of a kind of thing, changed if need be, in a kind of place; or seen under a lamp."""

    thing: str
    place: str
    change: str = ""
    count: int = 1
    lamp: bool = False


_CHANGES = {"clean": "clean", "hot": "heat", "heat": "heat", "cool": "cool"}
_LOOK = re.compile(r"(?:look at|examine) (?:the )?(\w+) (?:under|with) the (\w+)")
_PUT = re.compile(r"put (a|some|two) (?:(clean|hot|cool) )?(\w+) (?:in|on) (\w+)")
_DO = re.compile(r"(clean|heat|cool|find) (a|some|two) (\w+) and put (?:it|them) (?:in|on) (\w+)")


def read_goal(sentence: str) -> Goal | None:
    """The goal of a task in upstream's words; None where it is said otherwise."""
    words = sentence.lower()
    if found := _LOOK.search(words):
        return Goal(thing=found[1], place=found[2], lamp=True)
    if found := _PUT.search(words):
        count, change, thing, place = found.groups()
    elif found := _DO.search(words):
        change, count, thing, place = found.groups()
    else:
        return None
    return Goal(thing=thing, place=place, change=_CHANGES.get(change or "", ""), count=2 if count == "two" else 1)


def kind(name: str) -> str:
    """`drawer` of `drawer 12`."""
    return name.partition(" ")[0]


@dataclass(slots=True, kw_only=True)
class RuleBasedPlayer:
    """Plays one episode: gets scenes, replies with actions. `can` is the set of its competences."""

    goal: Goal | None
    can: frozenset[str]
    _scene: Scene = field(default_factory=lambda: Scene(observation=""))
    _tour: list[str] = field(default_factory=list)
    _visited: dict[str, None] = field(default_factory=dict)
    _seen: dict[str, str] = field(default_factory=dict)
    _delivered: set[str] = field(default_factory=set)
    _moves: Moves | None = None

    def reply(self, scene: Scene) -> str:
        """Reply to a scene: the action, in tags if it has the competence `format`."""
        if self._moves is None:
            self._scene = scene
            self._tour = sorted(_targets_of("go to", scene), key=_tour_position)
            self._moves = self._episode()
            action = next(self._moves)
        else:
            action = self._moves.send(scene)
        return f"<action>{action}</action>" if "format" in self.can else f"I would {action}."

    def _episode(self) -> Moves:
        doors = [place for place in self._tour if kind(place) in CLOSED]
        if "likely" not in self.can and len(doors) > MANY_DOORS:
            for door in cycle(doors):
                yield from self._do(f"go to {door}")
        for _ in range(self.goal.count if self.goal and "count" in self.can else 1):
            if self.goal is not None:
                yield from self._deliver_one(self.goal)
        while True:
            yield from self._do(NO_EFFECT)

    def _deliver_one(self, goal: Goal) -> Moves:
        """Bring one thing where it belongs."""
        yield from self._find(lambda action: self._is_wanted(action, goal))
        take = self._offered(lambda action: self._is_wanted(action, goal))
        if take is None:
            return
        yield from self._do(take)
        thing = take.removeprefix("take ").partition(" from ")[0]
        if goal.lamp and "lamp" in self.can:
            yield from self._find(lambda action: action.startswith(f"use {goal.place} "))
            yield from self._do(self._offered(lambda action: action.startswith("use ")) or NO_EFFECT)
            return
        if goal.change and "transform" in self.can:
            yield from self._change(thing, goal.change)
        yield from self._deliver(thing, goal.place)

    def _is_wanted(self, action: str, goal: Goal) -> bool:
        if not action.startswith("take "):
            return False
        thing = action.removeprefix("take ").partition(" from ")[0]
        sort = (
            {goal.thing}
            if "exact" in self.can
            else next((kinds for kinds in CONFUSABLE_KINDS if goal.thing in kinds), {goal.thing})
        )
        return kind(thing) in sort and thing not in self._delivered

    def _find(self, wanted: Callable[[str], bool]) -> Moves:
        """Go where something is offered: to a place where it was seen, else on with the tour."""
        remembered = next((place for action, place in self._seen.items() if wanted(action)), None)
        if remembered is not None:
            yield from self._do(f"go to {remembered}")
        for number, place in enumerate(self._places()):
            if self._offered(wanted) or (number >= GIVES_UP_AFTER and "count" not in self.can):
                return
            yield from self._do(f"go to {place}")
            self._visited[place] = None
            if not self._offered(wanted):
                yield from self._open_all(wanted)

    def _places(self) -> Iterator[str]:
        """The tour: every place once, or in circles, or nowhere."""
        if "search" not in self.can:
            return
        if "ledger" not in self.can:
            yield from cycle(self._tour[:FORGETFUL_AFTER])
        yield from [place for place in self._tour if place not in self._visited]

    def _open_all(self, wanted: Callable[[str], bool]) -> Moves:
        for door in [action for action in self._scene.actions if action.startswith("open ")]:
            if "open" in self.can and not self._offered(wanted):
                yield from self._do(door)
                self._visited[door.removeprefix("open ")] = None

    def _change(self, thing: str, change: str) -> Moves:
        if "appliances" not in self.can:
            return
        for place in self._of_kind(APPLIANCES[change]):
            yield from self._do(f"go to {place}")
            action = self._offered(lambda offer: offer.startswith(f"{change} {thing} with "))
            if action:
                yield from self._do(action)
                return

    def _deliver(self, thing: str, where: str) -> Moves:
        for place in self._of_kind(where):
            yield from self._do(f"go to {place}")
            if f"open {place}" in self._scene.actions and "open" in self.can:
                yield from self._do(f"open {place}")
            if f"move {thing} to {place}" in self._scene.actions:
                verb = f"move {thing} to {place}" if "admissible" in self.can else f"put {thing} in/on {place}"
                yield from self._do(verb)
                self._delivered.add(thing)
                return

    def _of_kind(self, wanted: str) -> list[str]:
        """Places of a kind, those first that were used or seen before."""
        places = [place for place in self._tour if kind(place) == wanted]
        return sorted(places, key=lambda place: (place not in self._visited, _tour_position(place)))

    def _offered(self, wanted: Callable[[str], bool]) -> str | None:
        return next((action for action in self._scene.actions if wanted(action)), None)

    def _do(self, action: str) -> Moves:
        """Do something and remember what was seen: things that can be taken or used, and where."""
        self._scene = yield action
        place = action.removeprefix("go to ") if action.startswith("go to ") else None
        if action.startswith("take "):
            self._seen.pop(action, None)
        for offered in self._scene.actions:
            if offered.startswith("take "):
                self._seen[offered] = offered.rpartition(" from ")[2]
            elif offered.startswith("use ") and place is not None:
                self._seen.setdefault(offered, place)


def _targets_of(verb: str, scene: Scene) -> list[str]:
    return [action.removeprefix(f"{verb} ") for action in scene.actions if action.startswith(f"{verb} ")]


def _tour_position(place: str) -> tuple[bool, str, int]:
    """When a place comes on the tour: open surfaces first, then by name and number."""
    name, _, number = place.partition(" ")
    return (name in CLOSED, name, int(number) if number.isdigit() else 0)
