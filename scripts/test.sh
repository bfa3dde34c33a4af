#!/usr/bin/env bash
# Install the package as users get it, and run the whole test suite, a file of tests on each core.
# Arguments go to pytest.
# Tests on the real data run where MTEB_EXT_DATA names its folder.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/environment.sh
install_into_environment ".[test]"
pytest -n auto --dist loadfile "$@"
