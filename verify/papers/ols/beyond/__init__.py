"""What is ours of paper `ols`: sharper, exact, or beside it."""
