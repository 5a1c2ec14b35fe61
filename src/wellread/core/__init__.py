"""The floor that every room stands on: JSON codec, effort, file permissions, untrusted files, Unicode, timeouts, keyring."""
