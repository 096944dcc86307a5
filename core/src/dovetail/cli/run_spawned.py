"""What a process that multiprocessing spawns imports as the main module.

The environment names the script: `dovetail run --as-torch SCRIPT` started its parent.
"""

import os
import sys

if __name__ == "__mp_main__":
    from dovetail.cli import torch_alias
    from dovetail.cli.run import PACKAGE, SCRIPT, Script

    torch_alias.install()
    script = Script(os.environ[SCRIPT], os.environ[PACKAGE] or None)
    script.run(sys.modules[__name__])
