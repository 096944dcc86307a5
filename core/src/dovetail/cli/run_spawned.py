"""What a process that multiprocessing spawns imports as the main module.

The environment names the script: `dovetail run --as-torch SCRIPT` started its parent.
"""

import os
import sys

if __name__ == "__mp_main__":
    from dovetail.cli import torch_alias
    from dovetail.cli.run import SCRIPT, execute

    torch_alias.install()
    execute(os.environ[SCRIPT], sys.modules[__name__])
