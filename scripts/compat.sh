#!/usr/bin/env bash
# Run the tests in fresh environments with other versions of what the package stands on, and print a
# table for docs/RELIABILITY.md. Left out are the tests of real models, of other processes, of Ray and
# of a browser, and those on the real data.
#
#   scripts/compat.sh [ENVIRONMENT...]
#
#   lowest             the lowest versions that pyproject.toml claims
#   newest             the newest that pip finds
#   mteb-core-3.11 ... the newest without torch, on mteb-core, for Python 3.11, 3.12 and 3.13: the
#                      tests of what runs no model
#   below-2.10, below-1.14   mteb below the range: one sentence, and mteb works
#
# PYTHON3_11 and so on name interpreters that are not on PATH; COMPAT_FOLDER keeps environments and
# logs. torch is the CPU build of environment.sh wherever it is needed, and lies there for Python 3.11
# only where pip knows no index of CPU builds.
set -euo pipefail
cd "$(dirname "$0")/.."
work="${COMPAT_FOLDER:-$(mktemp -d)}"
mkdir -p "$work"
unset PYTHONPATH
torch="torch==2.13.0"
fast="not models and not process and not ray and not browser and not real_data"
shown="mteb mteb-core sentence-transformers datasets numpy pandas scipy torch"
# Tests of what runs no model.
torchless=(tests/test_{benchmarks,comparing,comparison,correlation,fuzz,hook,new,plugins,predictions}.py
    tests/test_{published,ranking,readers,registry,rendering,results,significance,sources,verify}.py)

# The dependencies as constraints, each at its lowest version. torch is left out: pip finds CPU builds
# of few versions.
lowest() {
    sed -n '/^dependencies/,/^]/s/^ *"\([a-z0-9-]*\)>=\([0-9.]*\).*/\1==\2/p' pyproject.toml |
        grep -v '^torch=='
}

without_torch() {
    sed -n '/^dependencies/,/^]/s/^ *"\([a-z0-9-]*\)>=.*/\1/p' pyproject.toml |
        grep -vE '^(mteb|torch|transformers|sentence-transformers)$'
}

interpreter() {
    local variable="PYTHON${1/./_}"
    echo "${!variable:-python$1}"
}

install() {
    local name="$1"
    shift
    "$work/$name/bin/python" -m pip install --quiet --disable-pip-version-check "$@" >>"$work/$name.log" 2>&1
}

test_in() {
    local name="$1"
    shift
    "$work/$name/bin/python" -m pytest -q -p no:cacheprovider -m "$fast" "$@" >>"$work/$name.log" 2>&1 || true
    tail -n 1 "$work/$name.log" | sed 's/ in .*//'
}

said_below() {
    "$work/$1/bin/python" -W always -c '
import contextlib, io
said = io.StringIO()
with contextlib.redirect_stderr(said):
    import mteb, mteb_ext
    mteb_ext._autoload.install()
n = sum("mteb_ext" in line and "not active" in line for line in said.getvalue().splitlines())
print(n, "sentence;", len(mteb.get_tasks(tasks=["STS12", "STS13"])), "of 2 tasks of mteb are found")
' 2>>"$work/$1.log" || echo "failed, see the log"
}

versions() {
    "$work/$1/bin/python" - $shown <<'PYTHON'
import sys
from importlib.metadata import PackageNotFoundError, version

def found(name):
    try:
        return version(name)
    except PackageNotFoundError:
        return "–"

print(" | ".join([sys.version.split()[0], *map(found, sys.argv[1:])]))
PYTHON
}

try() {
    local name="$1" python="3.11" outcome
    case "$name" in mteb-core-*) python="${name#mteb-core-}" ;; esac
    : >"$work/$name.log"
    if ! "$(interpreter "$python")" -m venv "$work/$name" 2>>"$work/$name.log"; then
        echo "| $name | $python could not be had | | | | | | | | | |"
        return
    fi
    case "$name" in
        lowest) install "$name" "$torch" -c <(lowest) ".[test]" || outcome="cannot be installed" ;;
        newest) install "$name" "$torch" ".[test]" || outcome="cannot be installed" ;;
        mteb-core-*)
            install "$name" mteb-core $(without_torch) altair vl-convert-python hatchling hypothesis \
                ir-measures pytest python-calamine pytrec-eval-terrier xlwt &&
                install "$name" --no-deps . || outcome="cannot be installed"
            ;;
        below-*)
            # The newest pyarrow does not go with the numpy that mteb 1.14 asks for.
            install "$name" "$torch" "mteb==${name#below-}.0" "pyarrow<22" $(without_torch) &&
                install "$name" --no-deps . || outcome="cannot be installed"
            ;;
    esac
    if [ -z "${outcome:-}" ]; then
        case "$name" in
            mteb-core-*)
                outcome="$(test_in "$name" "${torchless[@]}")"
                ;;
            below-*) outcome="$(said_below "$name")" ;;
            *) outcome="$(test_in "$name")" ;;
        esac
    fi
    echo "| $name | $(versions "$name") | $outcome |"
}

echo "| Environment | Python | ${shown// / | } | Outcome |"
echo "| --- | --- |$(printf ' --- |%.0s' $shown) --- |"
all=(lowest newest mteb-core-3.11 mteb-core-3.12 mteb-core-3.13 mteb-core-3.14 below-2.10 below-1.14)
[ $# -gt 0 ] || set -- "${all[@]}"
for name in "$@"; do try "$name"; done
