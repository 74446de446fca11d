"""What sources need known of them before anything reads: paths, options, logs."""
