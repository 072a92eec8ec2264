#!/bin/sh
# What lessons are worth, and what becomes of a bad one: three runs of the suite `repeats` (about two minutes).
#
#     sh benches/lessons.sh [EDT]
#
# 1. No lessons, lessons from earlier failures, and a placebo.
# 2. Lessons that were learned before: told from the first session on. Then one of them made harmful: it costs its class of tasks,
#    until it loses its place.
# 3. The snapshot from before restored: the results of before are back, to the byte.
set -eu
edt=$(command -v "${1:-edt}" || true)
[ -n "$edt" ] || { echo "edt was not found: name it, or put it on PATH" >&2; exit 5; }
edt=$(readlink -f "$edt")
work=$(mktemp -d "${TMPDIR:-/tmp}/edt-lessons-XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work"
export HOME="$work" GIT_CONFIG_NOSYSTEM=1

echo "== 1. none, episodic, placebo"
"$edt" bench run repeats --out first 2>/dev/null

git init -q kept
git -C kept -c user.name=bench -c user.email=bench@example.com commit -q --allow-empty -m begin
"$edt" -C kept memory import "$work/first/memory/repeats-episodic-on.jsonl" >/dev/null
"$edt" -C kept memory snapshot good >/dev/null
run() { "$edt" bench run repeats --strategy episodic --sessions 4 --memory kept --no-times --out "$1" 2>/dev/null | sed -n '/attempts by session/,/^  refused/p'; }

echo "== 2. begun with what was learned"
run learned
json=$("$edt" -C kept memory list --code FILE_EXISTS --json)
id=$(printf %s "$json" | sed 's/.*"id":"\([0-9a-f]*\)".*/\1/')
echo "== 2. with one lesson made harmful"
"$edt" -C kept memory edit "$id" --lesson "mode create was refused. What landed: mode delete." >/dev/null
run harmful
echo "   its place in the end:"
grep "$id" harmful/memory/repeats-episodic-on.jsonl | sed 's/.*\("last_used".*\)}/   \1/'

echo "== 3. the snapshot restored"
"$edt" -C kept memory restore good >/dev/null
run restored
"$edt" bench report learned --no-times --json >learned.json
"$edt" bench report restored --no-times --json >restored.json
cmp learned.json restored.json && echo "   the same report as before, byte by byte"
