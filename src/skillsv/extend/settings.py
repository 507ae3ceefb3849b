"""Make the settings of a run from flags and from defaults of one's own, without the user's files.

`in_shares` turns amounts of score, which people write in points of a hundred, into shares. `compile_options` are the
settings that the compiler reads.
"""

from skillsv.api.shorten import level_as_share
from skillsv.settings import (
    RESULT_SETTINGS,
    Settings,
    compile_options,
    in_shares,
    refuse_chain_settings_with_auto,
    settings_from,
    small_settings,
)

__all__ = [
    "RESULT_SETTINGS",
    "Settings",
    "compile_options",
    "in_shares",
    "level_as_share",
    "refuse_chain_settings_with_auto",
    "settings_from",
    "small_settings",
]
