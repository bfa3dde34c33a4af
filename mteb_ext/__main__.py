"""``python -m mteb_ext``: the command line without the installed script."""

from __future__ import annotations

import sys

from mteb_ext.cli import main

sys.exit(main())
