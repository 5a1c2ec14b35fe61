"""Training the evaluator: data, negatives, training, evaluation, calibration, export. See README.md."""
