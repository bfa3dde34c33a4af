# Sourced by the other scripts: makes the virtual environment once, and installs the package into it.
#   install_into_environment REQUIREMENT...
# MTEB_EXT_VENV names the environment (default: .venv in the checkout), PYTHON the interpreter.

export MTEB_EXT_VENV="${MTEB_EXT_VENV:-$PWD/.venv}"
export TOKENIZERS_PARALLELISM=false

install_into_environment() {
    if [ ! -x "$MTEB_EXT_VENV/bin/python" ]; then
        "${PYTHON:-python3}" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
            { echo "Python 3.11 or newer is needed: set PYTHON to one." >&2; return 1; }
        "${PYTHON:-python3}" -m venv "$MTEB_EXT_VENV"
    fi
    echo "Installing into $MTEB_EXT_VENV; this takes a minute or two where pip has nothing cached." >&2
    # torch is pinned here, and only here: left open, pip may fetch a build of several gigabytes.
    "$MTEB_EXT_VENV/bin/python" -m pip install --quiet --disable-pip-version-check \
        torch==2.13.0 "$@"
    export PATH="$MTEB_EXT_VENV/bin:$PATH"
}
