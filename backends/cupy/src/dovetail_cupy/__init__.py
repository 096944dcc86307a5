"""What dovetail's CUDA and ROCm backends share; it announces no device of its own."""
