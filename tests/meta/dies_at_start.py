"""A set-up module that takes the process down, as a broken driver does."""

import os
import sys

print("driver version mismatch", file=sys.stderr, flush=True)
os._exit(7)
