"""Text as the project reads it: words, sentences, titles, markers, evidence, the citation check, one splitter."""
