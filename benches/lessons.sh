#!/bin/sh
# The value of lessons and the effect of a harmful one: runs of the suite `repeats` (two minutes).
#
#     sh benches/lessons.sh [DIR]
#
# DIR has the programs edt and edt-bench; without it both are taken from PATH.
#
# 1. No lessons, lessons from earlier failures, and a placebo.
# 2. Lessons of an earlier run, shown from the first session on. Then one of them is made harmful: it
#    costs its class of tasks attempts until retrieval drops it.
# 3. The snapshot is restored: the results are the same as before, byte for byte.
set -eu
find_program() {
    found=$(command -v "${dir:+$dir/}$1" || true)
    [ -n "$found" ] || { echo "$1 was not found: name its directory, or put it on PATH" >&2; exit 5; }
    readlink -f "$found"
}
dir=${1:-}
edt=$(find_program edt)
bench=$(find_program edt-bench)
work=$(mktemp -d "${TMPDIR:-/tmp}/edt-lessons-XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work"
export HOME="$work" GIT_CONFIG_NOSYSTEM=1

echo "== 1. none, episodic, placebo"
"$bench" run repeats --out first 2>/dev/null

git init -q kept
git -C kept -c user.name=bench -c user.email=bench@example.com commit -q --allow-empty -m begin
"$edt" -C kept memory import "$work/first/memory/repeats-episodic-on.jsonl" >/dev/null
"$edt" -C kept memory snapshot good >/dev/null
run() { "$bench" run repeats --strategy episodic --sessions 4 --memory kept --no-times --out "$1" 2>/dev/null | sed -n '/attempts by session/,/^  refused/p'; }

echo "== 2. with the memory of the first run"
run learned
json=$("$edt" -C kept memory list --code FILE_EXISTS --json)
id=$(printf %s "$json" | sed 's/.*"id":"\([0-9a-f]*\)".*/\1/')
echo "== 2. with one lesson made harmful"
"$edt" -C kept memory edit "$id" --lesson "mode create was refused. What landed: mode delete." >/dev/null
run harmful
echo "   the lesson at the end:"
grep "$id" harmful/memory/repeats-episodic-on.jsonl | sed 's/.*\("last_used".*\)}/   \1/'

echo "== 3. the snapshot restored"
"$edt" -C kept memory restore good >/dev/null
run restored
"$bench" report learned --no-times --json >learned.json
"$bench" report restored --no-times --json >restored.json
cmp learned.json restored.json && echo "   the same report as before, byte for byte"
