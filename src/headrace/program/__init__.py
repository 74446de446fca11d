"""What tasks are told and what they answer, as frozen data. Knows no engine."""
