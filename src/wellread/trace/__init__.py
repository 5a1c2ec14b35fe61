"""Events told afterwards: a timeline, a page, spans for OpenTelemetry."""
