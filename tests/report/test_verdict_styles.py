from skillsv.model.value import Action
from skillsv.report.figures.axis import marker
from skillsv.report.verdict_styles import VERDICT_STYLES, style_rules

PALETTE = (0, 95, 135, 175, 215, 255)
"""The levels of the 6 x 6 x 6 colours of a terminal."""


def terminal_colour(style):
    number = int(style.removeprefix("color(").removesuffix(")"))
    if number >= 232:
        return (8 + 10 * (number - 232),) * 3
    return tuple(PALETTE[(number - 16) // step % 6] for step in (36, 6, 1))


def luminance(parts):
    linear = [((part / 255 + 0.055) / 1.055) ** 2.4 if part > 10 else part / 255 / 12.92 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_every_verdict_has_one_row_with_its_own_mark_and_shape():
    assert set(VERDICT_STYLES) == set(Action)
    for name in ("mark", "shape", "light", "dark", "meaning"):
        assert len({getattr(style, name) for style in VERDICT_STYLES.values()}) == len(Action)
    drawn = {str(marker(action, 5, 5)).replace(style.light, "") for action, style in VERDICT_STYLES.items()}
    assert len(drawn) == len(Action)


def test_terminal_colours_can_be_read_on_black_and_on_white():
    for style in VERDICT_STYLES.values():
        shade = luminance(terminal_colour(style.terminal))
        assert (shade + 0.05) / 0.05 >= 3.8
        assert 1.05 / (shade + 0.05) >= 3.8


def test_the_style_sheet_has_a_colour_and_a_mark_for_each_verdict():
    rules = style_rules()
    for action, style in VERDICT_STYLES.items():
        assert f".v-{action} {{ --v: light-dark({style.light}, {style.dark}); }}" in rules
        assert f'.chip.v-{action}::before {{ content: "{style.mark}"' in rules
