#!/usr/bin/env bash
# Puts isl's own inputs of AST generation into build/isl-tests, from Debian's source package of isl.
# Changes nothing outside build/; says why where it cannot. A second run does nothing.
set -euo pipefail
cd "$(dirname "$0")/.."

suite=${1:-trixie} # the release of Debian whose isl is taken
target=build/isl-tests
say() { printf 'fetch_isl_tests: %s\n' "$*"; }

if [ -d "$target" ]; then
    say "$target is there ($(find "$target" -name '*.st' -o -name '*.in' | wc -l) inputs)"
    exit 0
fi
command -v apt-get >/dev/null || { say "skipped: the inputs come from Debian's source package, and there is no apt-get"; exit 2; }

work=build/isl-source
rm -rf "$work"
mkdir -p "$work/apt/lists/partial" "$work/apt/cache/archives/partial"
root=$PWD/$work
mirror=$(grep -rhoE 'https?://[^ ]*/debian/?( |$)' /etc/apt/sources.list /etc/apt/sources.list.d 2>/dev/null | head -n 1 | tr -d ' ' || true)
keys=/usr/share/keyrings/debian-archive-keyring.gpg
signed=""
[ -r "$keys" ] && signed=" [signed-by=$keys]"
echo "deb-src$signed ${mirror:-http://deb.debian.org/debian} $suite main" >"$root/apt/sources.list"
# Own lists and an own cache: the system's package database stays as it is, and nobody needs to be root.
options=(
    -qq -o "Dir::Etc::SourceList=$root/apt/sources.list" -o Dir::Etc::SourceParts=/dev/null
    -o "Dir::State::Lists=$root/apt/lists" -o "Dir::Cache=$root/apt/cache" -o APT::Sandbox::User=
    -o Acquire::Languages=none
)
say "reading the list of source packages of $suite"
apt-get "${options[@]}" update || { say "skipped: the list of packages cannot be read"; exit 2; }
say "fetching the source of isl"
(cd "$work" && apt-get "${options[@]}" source --download-only isl) || { say "skipped: the source cannot be fetched"; exit 2; }

archive=$(find "$work" -maxdepth 1 -name 'isl_*.orig.tar.*' ! -name '*.asc' | head -n 1)
[ -n "$archive" ] || { say "skipped: no archive of isl came"; exit 2; }
mkdir "$work/tree"
tar -xf "$archive" -C "$work/tree" --strip-components=1 --wildcards '*/test_inputs/codegen/*.st' '*/test_inputs/codegen/*.in'
mv "$work/tree/test_inputs/codegen" "$target"
say "$(find "$target" -name '*.st' -o -name '*.in' | wc -l) inputs of $(basename "$archive") in $target"
rm -rf "$work"
