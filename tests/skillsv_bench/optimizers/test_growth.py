"""The growth game: scores follow from the lines of a text, and the editor only adds unless it is told."""

from skillsv_bench.optimizers.growth import SEED_TEXT, Editor, GrowthGame, count_lines


def test_a_helpful_line_passes_its_topic_and_a_harmful_one_breaks_it():
    game = GrowthGame(seed=0, topics=4, easy=0.25)
    easy, hard = {"id": "a", "topic": 0}, {"id": "b", "topic": 2}
    helped = SEED_TEXT + "- [helps-2-1] x\n"
    assert [game.score(SEED_TEXT, easy), game.score(SEED_TEXT, hard)] == [1.0, 0.0]
    assert game.score(helped, hard) == 1.0
    assert game.score(helped + "- [harms-2-2] x\n", hard) == 0.0


def test_flips_are_as_frequent_as_said_and_repeat_themselves():
    game = GrowthGame(seed=0, topics=4, easy=1.0, flips=0.2)
    examples = game.examples("train", 2000)
    scores = [game.score(SEED_TEXT, example) for example in examples]
    assert 0.16 < 1.0 - sum(scores) / len(scores) < 0.24
    assert scores == [game.score(SEED_TEXT, example) for example in examples]


def test_the_editor_adds_lines_and_removes_only_what_feedback_speaks_against():
    game = GrowthGame(seed=3)
    editor = Editor(game, obeys=1.0)
    text = editor.rewrite(SEED_TEXT + "- [dead-1-90] x\n- [helps-1-91] x\n", [5])
    assert "dead-1-90" in text
    told = '- "- [dead-1-90] x": 0.0; has no effect that could be measured; remove it'
    assert "dead-1-90" not in editor.rewrite(text, [5], told)
    assert "helps-1-91" in editor.rewrite(text, [5], told)


def test_repeated_helpful_lines_count_as_dead():
    counts = count_lines("- [helps-1-1] x\n- [helps-1-2] x\n- [harms-1-3] x\n- [dead-1-4] x\n")
    assert (counts.helpful, counts.dead, counts.harmful) == (1, 2, 1)
