#!/usr/bin/env bash
# Installs each package of DIR into a prefix of its own and applies one edit with it: packages/try.sh DIR
# Prints the milliseconds from an empty home to the first applied edit, and ends with status 1 if a package
# takes too long, lacks its documents, or if a test of the clients fails with the program of DIR.
# Needs git, python3 and npm.
set -euo pipefail
packages="$(cd "$1" && pwd)"
source="$(cd "$(dirname "$0")" && pwd)"
scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT
export GIT_AUTHOR_NAME=Ada GIT_AUTHOR_EMAIL=ada@example.org
export GIT_COMMITTER_NAME=Ada GIT_COMMITTER_EMAIL=ada@example.org GIT_CONFIG_NOSYSTEM=1

try() { # name, limit in seconds, command that installs into $prefix, the program, documents it has
  local name="$1" limit="$2" install="$3" program="$4"
  export HOME="$scratch/$name/home" XDG_CONFIG_HOME="$scratch/$name/home/.config" prefix="$scratch/$name/prefix"
  mkdir -p "$HOME" "$prefix" "$scratch/$name/repository"
  local begun ended
  begun="$(date +%s%N)"
  bash -euo pipefail -c "$install" >/dev/null
  cd "$scratch/$name/repository"
  git init -q -b main
  "$prefix/$program" apply a.txt --mode create --content $'one\n' >/dev/null
  ended="$(date +%s%N)"
  test "$(cat a.txt)" = one
  test -z "$(git status --porcelain)"
  "$prefix/$program" demo >/dev/null
  echo "$name: $(((ended - begun) / 1000000)) ms to the first edit"
  if test $((ended - begun)) -gt "${limit}000000000"; then
    echo "$name: more than $limit s"
    exit 1
  fi
  shift 4
  for document; do
    if ! find "$prefix" -name "$document" | grep -q .; then
      echo "$name: $document is missing"
      exit 1
    fi
  done
}

export packages
licenses=(LICENSE-MIT LICENSE-APACHE LICENSES-THIRD-PARTY.txt)
completions=(_edt edt.fish)
try archive 10 'tar -xJf "$packages"/edt-[0-9]*-linux-*.tar.xz -C "$prefix" --strip-components 1' edt \
  edt.1 edt-apply.1 "${completions[@]}" "${licenses[@]}"
try debian 10 'dpkg-deb -x "$packages"/edt_*.deb "$prefix"' usr/bin/edt \
  edt.1.gz edt-apply.1.gz "${completions[@]}" copyright third-party.txt.gz
# An environment is there already.
mkdir -p "$scratch/wheel" && python3 -m venv "$scratch/wheel/prefix"
try wheel 20 '"$prefix/bin/pip" -q install --no-index "$packages"/*.whl' bin/edt \
  edt.1 edt-apply.1 "${completions[@]}" "${licenses[@]}"
# The name of the package starts the program, too: `uvx edt-cli`.
test "$("$prefix/bin/edt-cli" --version)" = "$("$prefix/bin/edt" --version)"
try npm 20 'npm install --silent --no-audit --no-fund --ignore-scripts --offline --prefix "$prefix" "$packages"/edt-cli-linux-*.tgz "$packages"/edt-cli-[0-9]*.tgz' \
  node_modules/.bin/edt edt.1 edt-apply.1 "${completions[@]}" "${licenses[@]}"
# A host unpacks the bundle and starts the server.
try mcpb 10 'cd "$prefix" && python3 -m zipfile -e "$packages"/edt-*.mcpb . && chmod +x server/edt' server/edt \
  manifest.json "${licenses[@]}"
hello='{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"try","version":"1"}}}'
"$prefix/server/edt" -C "$scratch/mcpb/repository" mcp <<<"$hello" | grep -q '"serverInfo"'

export EDT_PROGRAM="$scratch/archive/prefix/edt"
cd "$source/python" && python3 -m unittest -q tests.test_workspace
cd "$source/npm/edt" && node --test tests/workspace.test.js >"$scratch/node" || { cat "$scratch/node"; exit 1; }
echo "clients: their tests pass"
