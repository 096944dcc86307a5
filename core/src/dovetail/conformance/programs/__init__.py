"""Random programs on a device, beside a model of what they must do."""
