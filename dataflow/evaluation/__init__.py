"""The experiment graph: judged queries -> runs -> measures -> comparison."""
