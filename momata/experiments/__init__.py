"""Complete experiments, each one file; they use everything below and print nothing."""
