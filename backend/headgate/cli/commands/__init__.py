"""One file for each family of commands; each asks the API and shows the answer."""
