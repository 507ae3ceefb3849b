"""The live page over all runs below a folder: a small server on this machine that reads run folders.

found_runs     finds run folders and says how far each run is
session_state  says which run is under way, where several share a ledger
ledger_totals  counts and spending of a ledger, updated by its new rows
transcripts    pages of rollouts, search, one rollout in full
run_pages      report and matrix pages, and why one cannot be shown
comparison     two runs side by side
guard          refuses other hosts, other origins and wrong tokens
app            the routes
page_server    ends the streams of open pages when it is stopped
server         binds 127.0.0.1 and serves until it is stopped
"""
