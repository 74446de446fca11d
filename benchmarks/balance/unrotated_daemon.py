"""The Python daemon of workers whose mini-partitions never take turns, to compare with those that do."""

import headrace.balance.rotate_pids as rotation
from headrace.runtime.daemon import main

rotation.SHARE = 1e6

if __name__ == "__main__":
    main()
