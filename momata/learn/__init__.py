"""One learner, one file: from a corpus or its Hankel blocks to a `FitResult`."""
