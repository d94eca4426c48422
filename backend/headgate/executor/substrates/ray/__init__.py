"""Ray as a substrate: gangs as jobs with a placement group on exactly the chosen nodes."""
