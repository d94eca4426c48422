"""One module for each family of commands; all but `log` call the API and show the answer."""
