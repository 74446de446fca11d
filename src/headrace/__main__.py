"""`python -m headrace`, and the program that spark-submit takes: it wants a file that ends in .py.

spark-submit --master spark://host:7077 "$(python -c 'import headrace; print(headrace.__path__[0])')/__main__.py" run …
"""

import sys
from pathlib import Path


def run() -> None:
    """The command line, without this folder among those that modules are looked for in: names of ours would hide others."""
    here = Path(__file__).parent
    sys.path[:] = [folder for folder in sys.path if not folder or Path(folder).resolve() != here.resolve()]
    from headrace.cli import main

    main(prog_name="headrace")


if __name__ == "__main__":
    run()
