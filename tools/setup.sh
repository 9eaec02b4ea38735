#!/bin/sh
# Makes .venv ready for `make`: keeps a sound one, rebuilds any other, and says in one line what is missing.
#
#     tools/setup.sh LEVEL                   install the package (LEVEL run), and also what its tests (test), the
#                                            notebooks (notebooks), all checks (dev) or the site (docs) need
#     PYTHON=python3.12 tools/setup.sh run     use this interpreter instead of the newest tested version
set -u
CDPATH='' cd -- "$(dirname -- "$0")/.." || exit 1

level=${1:-run}
case $level in
    run) package=. ;;
    test | dev) package=".[$level]" ;;
    notebooks) package=".[test,notebooks]" ;;
    docs) package=".[dev,docs]" ;;
    *) echo "setup: unknown level '$level' (run, test, notebooks, dev or docs)" >&2; exit 2 ;;
esac

say() { printf 'setup: %s\n' "$*" >&2; }
fail() { say "$*"; exit 1; }

# --- the interpreter ---------------------------------------------------------------------------------------------

# Prints "RANK VERSION LACKS EXECUTABLE", in syntax that Python 2 accepts, too. Higher ranks are better: JAX >= 0.11
# needs Python 3.12 and is twice as fast on CPU as the versions for 3.11; versions of Python newer than the tested ones
# come last. The executable is the one behind shims and virtual environments, so that .venv never depends on itself.
probe='
import os, sys
version, lacks = sys.version_info[:2], []
for module in ("venv", "ensurepip", "ssl", "zlib", "ctypes"):
    try:
        getattr(__import__(module), "version", int)()
    except Exception:
        lacks.append(module)
if sys.maxsize < 2**32 or getattr(getattr(sys, "implementation", None), "name", "") != "cpython":
    lacks.append("64-bit-CPython")
rank = {(3, 13): 4, (3, 12): 3, (3, 11): 2}.get(version, 1 if version > (3, 13) else 0)
print("%d %d.%d %s %s" % (rank, version[0], version[1], ",".join(lacks) or "-",
                          getattr(sys, "_base_executable", None) or sys.executable))
'

best_rank=0 best= lacking_rank=0 lacking= old=

consider() { # one executable: keep it if it is the best so far
    [ -x "$1" ] || return 0
    facts=$("$1" -E -s -c "$probe" 2>/dev/null </dev/null) || return 0 # a shim without a Python behind it, a broken build
    IFS=' ' read -r rank version lacks executable <<EOF
$facts
EOF
    case $rank in
        0) old=${old:-"$version at $executable"} ;;
        [1-4])
            if [ "$lacks" != - ]; then
                [ "$rank" -le "$lacking_rank" ] || { lacking_rank=$rank; lacking="$version $lacks $executable"; }
            elif [ "$rank" -gt "$best_rank" ]; then
                best_rank=$rank best=$executable best_version=$version
            fi ;;
    esac
}

on_path() { # the name in every folder of PATH, not in the first only: that one may be a shim
    saved_ifs=$IFS
    IFS=:
    set -f
    for folder in $PATH; do consider "${folder:-.}/$1"; done
    set +f
    IFS=$saved_ifs
}

find_python() {
    if [ -n "${PYTHON:-}" ]; then
        consider "$(command -v "$PYTHON" || true)"
    else
        for minor in 13 12 11; do
            on_path "python3.$minor"
            for executable_ in "${PYENV_ROOT:-${HOME:-}/.pyenv}"/versions/3."$minor".*/bin/python; do
                consider "$executable_"
            done
            [ -z "$best" ] || return 0
        done
        for name in python3 python python3.14 python3.15; do on_path "$name"; done
        for executable_ in "${PYENV_ROOT:-${HOME:-}/.pyenv}"/versions/*/bin/python; do consider "$executable_"; done
    fi
    [ -n "$best" ] || missing
}

missing() {
    if [ -n "$lacking" ]; then
        IFS=' ' read -r version lacks executable <<EOF
$lacking
EOF
        case $lacks in
            *venv* | *ensurepip*)
                fail "Python $version at $executable lacks its modules $lacks: install them (Debian, Ubuntu: apt install" \
                    "python$version-venv), or give another Python >= 3.11: make PYTHON=/path/to/python" ;;
            *)
                fail "Python $version at $executable lacks $lacks: give another Python >= 3.11, 64-bit CPython, built" \
                    "with them: make PYTHON=/path/to/python" ;;
        esac
    elif [ -n "$old" ]; then
        fail "Python >= 3.11 is needed, but only Python $old was found: install one (Debian 12+, Ubuntu 24.04+: apt install" \
            "python3 python3-venv; else python.org or pyenv), or give its path: make PYTHON=/path/to/python"
    elif [ -n "${PYTHON:-}" ]; then
        fail "PYTHON=$PYTHON does not run as Python: give the path of a Python >= 3.11"
    else
        fail "Python >= 3.11 is needed and none was found: install one (Debian 12+, Ubuntu 24.04+: apt install python3" \
            "python3-venv; else python.org or pyenv), or give its path: make PYTHON=/path/to/python"
    fi
}

# --- .venv -------------------------------------------------------------------------------------------------------

python=.venv/bin/python
wanted=
if [ -n "${PYTHON:-}" ]; then
    find_python
    wanted=$best
fi

install() {
    # Modules are compiled when they are first imported, a tenth of all; pip would compile all of them in half a minute.
    PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1 PIP_USER=0 $python -m pip install -qq --no-compile --constraint constraints.txt \
        --editable "$package" </dev/null ||
        fail "pip could not install $package (its message is above; no network, or a full disk?): correct this and run" \
            "the command again, which starts afresh"
    $python -I tools/environment.py stamp "$level" || fail "the new .venv does not work: its message is above"
}

# A stray PYTHONPATH or a PIP_TARGET would make .venv look sound, or fill another folder.
unset PYTHONHOME PYTHONPATH PIP_PREFIX PIP_TARGET

if [ -e .venv ] || [ -L .venv ]; then
    if [ -x $python ]; then
        trouble=$($python -I tools/environment.py check "$level" "$wanted" 2>&1)
        status=$?
    else
        trouble="its Python does not run"
        status=1
    fi
    [ $status -ne 0 ] || exit 0
    if [ $status -eq 3 ]; then # sound, but made for a lower level
        say "adding what '$level' needs to .venv"
        install
        exit 0
    fi
    say "rebuilding .venv: $(printf '%s\n' "$trouble" | tail -n 1)"
fi
[ -n "$best" ] || find_python
rm -rf .venv || fail "the old .venv cannot be removed: remove it, then run the command again"
say "installing into .venv with Python $best_version ($best), about a minute"
"$best" -E -s -m venv .venv || fail "$best could not make .venv (its message is above; a full disk, or a read-only folder?)"
install
