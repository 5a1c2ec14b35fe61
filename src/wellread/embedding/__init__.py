"""Texts to vectors: `onnx` runs models here (one comes in the package), `openai` asks a compatible server."""
