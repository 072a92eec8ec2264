#!/bin/sh
# What failed evaluations teach: runs of the suite `numeric` (some minutes).
#
#     sh benches/lessons.sh [DIR]
#
# DIR has the program edt-bench; without it the program is taken from PATH.
#
# 1. No lessons, the judge's reasons, lessons from earlier evaluations, and a placebo.
# 2. A run that begins with the lessons of the first one.
# 3. The same, with every lesson made harmful: each costs attempts until it is dropped, and what is
#    learned again replaces it.
set -eu
dir=${1:-}
bench=$(command -v "${dir:+$dir/}edt-bench" || true)
[ -n "$bench" ] || { echo "edt-bench was not found: name its directory, or put it on PATH" >&2; exit 5; }
bench=$(readlink -f "$bench")
work=$(mktemp -d "${TMPDIR:-/tmp}/edt-lessons-XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work"
export HOME="$work" GIT_CONFIG_NOSYSTEM=1
memory=first/memory/numeric-episodic-on.jsonl
run() {
    "$bench" run numeric --strategy episodic --no-times "$@" 2>/dev/null |
        sed -n '/passed by session/,/final score by session/p' | sed '$d'
}

echo "== 1. none, reflection, episodic, placebo"
"$bench" run numeric --strategy none,reflection,episodic,placebo --sessions 2 --out first 2>/dev/null

echo "== 2. with the lessons of the first run"
run --sessions 2 --memory "$memory" --out again

echo "== 3. with harmful lessons"
python3 - "$memory" >harmful.jsonl <<'END'
import json, sys
for line in open(sys.argv[1]):
    episode = json.loads(line)
    # A remedy for another trap, which the agent obeys.
    wrong = "Weight each price." if "weigh" not in line.lower() else "Amounts are in cents."
    episode["body"].update(failed="", error="It was wrong.", fixed=wrong)
    episode.update(score=0.5, times_applied=0, times_succeeded=0)
    print(json.dumps(episode))
END
run --sessions 3 --memory harmful.jsonl --out harmful
