from skillsv.report.figures.svg import fit_text


def test_text_that_fits_is_not_cut():
    assert fit_text("State the parcel number in the first sentence.", 356) == (
        "State the parcel number in the first sentence."
    )
    assert fit_text("", 10) == ""


def test_capitals_and_wide_characters_are_cut_sooner():
    small, capital, wide = (fit_text(letter * 60, 200) for letter in ("a", "A", "漢"))
    assert len(small) > len(capital) > len(wide) > 10
    assert {text[-1] for text in (small, capital, wide)} == {"…"}


def test_a_text_that_was_cut_before_has_one_ellipsis():
    assert fit_text("A" * 20 + " …", 100) == "A" * 9 + "…"
