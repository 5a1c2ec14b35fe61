"""Training of the verifier: whether passages carry a sentence."""
