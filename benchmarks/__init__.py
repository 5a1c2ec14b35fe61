"""Benchmarks: `python -m benchmarks NAME [--quick]` runs one, `python -m benchmarks` all that have a bar and prints the board.

Each file runs by itself, too (`python benchmarks/NAME.py`), and the last line of its output is one JSON object. Benchmarks import
nothing from the tests; the tests may borrow their instruments (`hostile`, `loop`, `ray_cluster`, `shapes`, `stage`).
"""
