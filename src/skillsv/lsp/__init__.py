"""`skillsv lsp`: findings and values in an editor, by the Language Server Protocol. It reads, and runs nothing.

positions      bytes of a text as lines and columns of the protocol, and back
open_skills    which skill a document belongs to; the skill with the texts that the editor has not saved
run_search     the run folder that holds the last values of a skill
unit_states    which units of the text are as they were valued, and which have changed
descriptions   the words of inlay hints and hovers
deletions      the edit that removes a unit, where its deletion is proved
server         the server: the only module that needs pygls
"""
