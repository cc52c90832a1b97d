"""`python -m maxmargin.cli`, the same as the command `maxmargin`."""

import sys

from maxmargin.cli.command import main

sys.exit(main())
