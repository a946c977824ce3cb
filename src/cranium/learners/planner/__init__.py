"""The model-based learner: it learns the dynamics of the world and plans in the product."""
