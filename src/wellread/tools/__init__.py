"""Tools that strategies can offer to a model."""
