#!/usr/bin/env bash
# Makes a release from what is committed: sdist and wheel, a list of all parts (SBOM, CycloneDX), checksums, a signature.
#
#   scripts/release.sh [--sign KEY] [DIR]      DIR: where it goes, default dist
#
# The wheel is made twice and must be the same both times; it is tried in an environment of its own, from another folder.
# One wheel serves CPython 3.11 to 3.13: it holds no compiled code of Python's. What is prepared in it is for the Python
# that runs this; others make it in their first build. Nothing is uploaded.
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf 'release: %s\n' "$*"; }
stop() { say "$*" >&2; exit 1; }

key=""
if [ "${1:-}" = --sign ]; then
    [ -n "${2:-}" ] || stop "--sign needs the name of a key of gpg"
    command -v gpg >/dev/null || stop "gpg is not here: install it, or leave out --sign"
    key=$2
    shift 2
fi
mkdir -p "${1:-dist}"
out=$(cd "${1:-dist}" && pwd)
[ -z "$(git status --porcelain)" ] || stop "commit or remove what git status names"
version=$(sed -n 's/^VERSION = "\(.*\)"$/\1/p' src/planish/version.py)
for file in pyproject.toml src/planish/cmake/PlanishConfigVersion.cmake packaging/conda/meta.yaml; do
    grep -q "\"$version\"" "$file" || stop "$file has another version than $version"
done

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
# The locked versions, as far as they are asked for.
grep -v '^#' requirements.lock >"$work/constraints.txt"
pip() { "$1" -m pip --disable-pip-version-check -q install -c "$work/constraints.txt" "${@:2}"; }

say "planish $version of $(git log -1 --format=%cs), commit $(git rev-parse --short HEAD)"
git archive --prefix=source/ HEAD | tar -x -C "$work"
python3 -m venv "$work/tools"
tools=$work/tools/bin/python
# The project's own dependencies, with which what is prepared is made.
(cd "$work/source" && pip "$tools" build 'hatchling>=1.26' cyclonedx-bom .)
"$tools" -m pip -q uninstall -y planish

say "preparing what first builds would have to make otherwise"
(
    cd "$work/source"
    export PYTHONPATH=$PWD/src
    "$tools" -c 'from planish.raising.match.operation_index import prepare_all; prepare_all()'
    "$tools" -c 'from planish.isa.shipped import prepare_texts; prepare_texts()'
    "$tools" -c 'from planish.library.kernels.gemm.preparation import prepare_machine; prepare_machine()'
)

say "making the wheel and the sdist, twice"
for turn in 1 2; do
    (cd "$work/source" && "$tools" -m build -n --sdist --wheel -o "$work/made$turn" . >"$work/build.log" 2>&1) || { cat "$work/build.log"; exit 1; }
done
diff -r "$work/made1" "$work/made2" || stop "two builds of the same files differ"
wheel=$(basename "$work"/made1/*.whl)

say "trying the wheel in an environment of its own"
python3 -m venv "$work/fresh"
fresh=$work/fresh/bin
pip "$fresh/python" "$work/made1/$wheel"
mkdir "$work/elsewhere"
cat >"$work/elsewhere/dot.c" <<'C'
float dot(int n, const float *x, const float *y)
{
    float sum = 0;
    for (int i = 0; i < n; i++)
        sum += x[i] * y[i];
    return sum;
}
C
(
    cd "$work/elsewhere"
    unset PYTHONPATH
    export XDG_CACHE_HOME=$work/cache
    [ "$("$fresh/planish" --version)" = "planish $version" ] || stop "planish --version says something else"
    "$fresh/python" -c '
from planish.isa.shipped import prepare_texts
from planish.raising.match.operation_index import prepare_all
assert not prepare_all() and not prepare_texts(), "what was prepared is not in the wheel, or is not found there"'
    "$fresh/planish" build dot.c --no-measure -q
    grep -q 'planish_dot_1(' planish-out/dot.c || stop "the installed planish leaves a sum as it is"
    [ -f "$("$fresh/planish" cmake)/PlanishConfig.cmake" ] || stop "the package for CMake is missing"
)

say "listing the parts"
"$tools" -m cyclonedx_py environment --output-reproducible --pyproject pyproject.toml --mc-type application \
    -o "$work/made1/planish-$version.cdx.json" "$fresh/python" 2>"$work/sbom.log" || { cat "$work/sbom.log"; exit 1; }
cp requirements.lock "$work/made1/planish-$version.lock"
(cd "$work/made1" && sha256sum -- * >"$work/SHA256SUMS")
mv "$work/SHA256SUMS" "$work/made1/"
cp "$work"/made1/* "$out/"
if [ -n "$key" ]; then
    gpg --yes --armor --local-user "$key" --detach-sign "$out/SHA256SUMS"
    say "signed by $key"
else
    say "not signed: name a key with --sign"
fi
say "done, in $out:"
(cd "$out" && sha256sum -c SHA256SUMS)
