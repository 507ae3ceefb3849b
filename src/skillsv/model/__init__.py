"""The nouns all stages speak: skills, coalitions, tasks, rollouts, chains, values, edits. Frozen data, no behaviour."""
