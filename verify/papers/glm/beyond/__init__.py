"""What is ours of paper `glm`: sharper, exact, or beside it."""
