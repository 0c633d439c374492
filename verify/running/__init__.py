"""From claims to stored results: runner, executors, store, versions of the code, results files."""
