"""Settings: their declarations (`tree`), the values people write (`values`), files, flags and precedence (`load`)."""

from skillsv.settings.check_table import CheckSettings
from skillsv.settings.info import SettingGroup, SettingInfo, declared
from skillsv.settings.load import (
    guarded_settings,
    in_shares,
    load_check_settings,
    load_settings,
    refuse_chain_settings_with_auto,
    small_settings,
    user_file,
)
from skillsv.settings.tree import (
    DEFAULTS,
    EARLIER_BEHAVIOUR,
    FLAGS_ONLY,
    FREE,
    GUARDED,
    RESULT_SETTINGS,
    SETTING_NAMES,
    SETTINGS,
    Settings,
    compile_options,
    identity_settings,
    run_settings,
    settings_dict,
    settings_from,
)
from skillsv.settings.values import share_of_points, small_amounts

__all__ = [
    "DEFAULTS",
    "EARLIER_BEHAVIOUR",
    "FLAGS_ONLY",
    "FREE",
    "GUARDED",
    "RESULT_SETTINGS",
    "SETTINGS",
    "SETTING_NAMES",
    "CheckSettings",
    "SettingGroup",
    "SettingInfo",
    "Settings",
    "compile_options",
    "declared",
    "guarded_settings",
    "identity_settings",
    "in_shares",
    "load_check_settings",
    "load_settings",
    "refuse_chain_settings_with_auto",
    "run_settings",
    "settings_dict",
    "settings_from",
    "share_of_points",
    "small_amounts",
    "small_settings",
    "user_file",
]
