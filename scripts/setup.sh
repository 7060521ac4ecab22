#!/usr/bin/env bash
# Makes .venv with the locked dependencies and this project in it; says what it does and what it skips.
# A second run with nothing changed does nothing.
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf 'setup: %s\n' "$*"; }

apt_ready=""
apt_install() {
    # Only as root and only where apt is: nobody is asked for a password.
    [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || return 1
    if [ -z "$apt_ready" ]; then
        apt-get -qq update >/dev/null 2>&1 || return 1
        apt_ready=yes
    fi
    DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends "$@" >/dev/null 2>&1
}

any() { for name in "$@"; do command -v "$name" && return 0; done; return 1; }

optional() { # what, why, package..., --, command...
    local what=$1 why=$2; shift 2
    local packages=()
    while [ "$1" != -- ]; do packages+=("$1"); shift; done
    shift
    any "$@" >/dev/null && return 0
    for package in "${packages[@]}"; do
        say "installing $package ($why)"
        apt_install "$package" && return 0
    done
    say "skipped $what ($why): install it by hand for that"
}

optional "a C compiler" "checks and measures kernels" gcc libc6-dev -- gcc clang cc
any gcc clang cc >/dev/null && ! echo '#include <math.h>' | "$(any gcc clang cc)" -E - >/dev/null 2>&1 \
    && { say "installing libc6-dev (headers of C)"; apt_install libc6-dev || say "skipped libc6-dev: no C headers here"; }
optional "mlir-opt" "a judge for the tests of the MLIR front-end" mlir-19-tools -- mlir-opt-19
optional "clang" "a second compiler to compare with" clang-19 clang -- clang-19 clang clang-18 clang-17 clang-16
optional "MLIR" "checks and runs what is raised to MLIR" mlir-19-tools -- mlir-opt-19 mlir-opt
case $(uname -m) in aarch64 | arm64) ;; *)
    if ! any aarch64-linux-gnu-gcc >/dev/null || ! any qemu-aarch64 >/dev/null; then
        say "installing gcc-aarch64-linux-gnu and qemu-user (make and check code for Arm)"
        apt_install gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user \
            || say "skipped gcc-aarch64-linux-gnu and qemu-user (make and check code for Arm): install them by hand for that"
    fi ;;
esac
[ -e /usr/include/CL/cl.h ] && ls /etc/OpenCL/vendors/*.icd >/dev/null 2>&1 \
    || { say "installing pocl-opencl-icd, ocl-icd-opencl-dev (run kernels of OpenCL on the processor)"; apt_install pocl-opencl-icd ocl-icd-opencl-dev; } \
    || say "skipped pocl-opencl-icd, ocl-icd-opencl-dev (run kernels of OpenCL on the processor): install them by hand for that"
library() { ldconfig -p 2>/dev/null | grep -q "$1\.so"; }
for name in openblas openblas64; do
    library "lib$name" || { say "installing lib$name-dev (runs what is raised to calls of a BLAS)"; apt_install "lib$name-dev"; } \
        || say "skipped lib$name-dev (runs what is raised to calls of a BLAS): install it by hand for that"
done

python=""
for name in python3 python3.13 python3.12 python3.11; do
    if command -v "$name" >/dev/null && "$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
        python=$name
        break
    fi
done
[ -n "$python" ] || { say "Python 3.11 or newer is needed and was not found"; exit 1; }

prepare() { # what the first builds would have to make otherwise
    local made
    made=$(.venv/bin/python -c 'from planish.raising.match.operation_index import prepare_all; print(prepare_all())')
    [ "$made" = False ] || say "prepared the operations that loops are compared with"
    made=$(.venv/bin/python -c 'from planish.isa.shipped import prepare_texts; print(prepare_texts())')
    [ "$made" = False ] || say "prepared the C of the instructions that kernels are made of"
    made=$(.venv/bin/python -c 'from planish.library.kernels.gemm.preparation import prepare_machine; print(prepare_machine())')
    [ "$made" = False ] || say "prepared the micro-kernels of products on this machine"
}

stamp=.venv/.planish-setup
wanted=$(cat requirements.lock pyproject.toml | cksum)
if [ -x .venv/bin/python ] && [ "$(cat "$stamp" 2>/dev/null)" = "$wanted" ]; then
    prepare
    say ".venv is up to date ($(.venv/bin/python --version))"
    exit 0
fi

say "making .venv with $("$python" --version)"
if ! "$python" -m venv .venv >/dev/null 2>&1; then
    say "installing python3-venv (this Python cannot make environments without it)"
    apt_install python3-venv || { say "install the package python3-venv, then run this again"; exit 1; }
    "$python" -m venv --clear .venv
fi
say "installing the locked dependencies"
.venv/bin/python -m pip install --quiet --disable-pip-version-check -r requirements.lock
say "installing planish itself"
.venv/bin/python -m pip install --quiet --disable-pip-version-check --no-deps -e .
printf '%s\n' "$wanted" >"$stamp"
prepare
say "done: .venv/bin/planish"
