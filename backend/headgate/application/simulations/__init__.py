"""What-if simulations: changes tried out on a fork of the state; nothing is written."""
