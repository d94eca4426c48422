"""One module for each family of commands; each calls the API and shows the answer."""
