"""What a tensor can do beside computing: memory, printing, conversions, streams."""
