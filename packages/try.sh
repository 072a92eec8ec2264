#!/usr/bin/env bash
# Installs each package of DIR into a prefix of its own and applies one edit with it: packages/try.sh DIR
# Prints the seconds from an empty home to the first applied edit. Needs git, python3 and npm.
set -euo pipefail
packages="$(cd "$1" && pwd)"
scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT
export GIT_AUTHOR_NAME=Ada GIT_AUTHOR_EMAIL=ada@example.org
export GIT_COMMITTER_NAME=Ada GIT_COMMITTER_EMAIL=ada@example.org GIT_CONFIG_NOSYSTEM=1

try() { # name, command that installs into $prefix, the program
  local name="$1" install="$2" program="$3"
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
}

export packages
try archive 'tar -xzf "$packages"/edt-[0-9]*-linux-*.tar.gz -C "$prefix" --strip-components 1' edt
try debian 'dpkg-deb -x "$packages"/edt_*.deb "$prefix"' usr/bin/edt
try wheel 'python3 -m venv "$prefix" && "$prefix/bin/pip" -q install --no-index "$packages"/*.whl' bin/edt
try npm 'npm install --silent --no-audit --no-fund --ignore-scripts --offline --prefix "$prefix" "$packages"/edt-cli-linux-*.tgz "$packages"/edt-cli-[0-9]*.tgz' node_modules/.bin/edt
