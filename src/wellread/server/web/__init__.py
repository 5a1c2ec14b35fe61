"""The page: HTML from the server, plain CSS and JavaScript modules, no build step."""
