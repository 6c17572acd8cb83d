"""Models that answer: Inferences, their predictors, and how requests are shared among them."""
