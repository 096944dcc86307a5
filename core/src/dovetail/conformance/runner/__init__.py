"""The process that owns the device, and what watches over it."""
