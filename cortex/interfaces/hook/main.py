"""What an agent's host runs: `python -I -S main.py EVENT --host HOST`. Python compiles this file at
each run, for as long as a sixth of a hook took, so it is short."""

import os
import sys

if __name__ == "__main__":
    # Behind Python's own modules: none of what lies beside ours may take their place.
    sys.path.append(os.path.abspath(f"{__file__}/../../../.."))
    try:
        from cortex.interfaces.hook.console import console

        console(sys.argv[1:])
    finally:
        os._exit(0)  # another code would stop the agent
