"""What is said: claims, papers, verdicts and their words."""
