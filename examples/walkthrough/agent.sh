#!/bin/sh
# Answers with the line of the skill that shares most words with the question; without a skill it knows nothing.
# It writes a line into calls.log beside it, so that the walkthrough can count what was paid for.
echo "$SKILLSV_TASK_ID" >> "$(dirname "$0")/calls.log"
question=$(sed -n 's/.*"input":"\([^"]*\)".*/\1/p')
if [ -z "$SKILLSV_SKILL" ]; then echo "I do not know."; exit 0; fi
awk -v question="$question" '
  BEGIN { count = split(tolower(question), words, /[^a-z]+/) }
  /^- / {
    shared = 0
    for (i = 1; i <= count; i++) if (length(words[i]) > 3 && index(tolower($0), words[i])) shared++
    if (shared >= best && shared > 0) { best = shared; answer = substr($0, 3) }
  }
  END { print answer == "" ? "I do not know." : answer }
' "$SKILLSV_SKILL/SKILL.md"
