"""Small safety pieces that every room may use: files, Unicode, timeouts, caches."""
