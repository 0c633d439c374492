"""What is ours of paper `ftrl`: sharper, exact, or beside it."""
