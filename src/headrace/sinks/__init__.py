"""Where committed results go besides the checkpoint."""
