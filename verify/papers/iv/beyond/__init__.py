"""What is ours of paper `iv`: sharper, exact, or beside it."""
