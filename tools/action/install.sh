#!/usr/bin/env bash
# Installs skillsv for the steps of the action. INPUT_VERSION: what pip installs; empty: this very version, with the
# optional parts in INPUT_EXTRAS; none: nothing.
set -euo pipefail

case "${INPUT_VERSION:-}" in
  none) command -v skillsv ;;
  "") python3 -m pip install --quiet --disable-pip-version-check "$ACTION_FOLDER${INPUT_EXTRAS:+[$INPUT_EXTRAS]}" ;;
  *) python3 -m pip install --quiet --disable-pip-version-check -- "$INPUT_VERSION" ;;
esac
