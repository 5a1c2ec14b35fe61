"""Recording what a run got from outside, and running it again from the file."""
