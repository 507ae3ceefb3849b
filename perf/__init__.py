"""Speed, measured as ratios within one run. `make bench` runs all of it; `python -m perf startup` one part."""
