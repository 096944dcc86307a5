"""The vocabulary: every op is declared once, by family, and registers itself."""
