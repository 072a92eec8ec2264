#!/usr/bin/env bash
# Every construct that the queries of Bash name.
set -e
set -u
source ./lib.sh

name=build
count=0
count+=1
count+=1
tab=$'\t'
local_only=$(pwd)
export LEVEL=1
readonly MODE='a "b" ('

if [ -n "$name" ]; then
	copy() { cp "$1" "$2"; }
elif [[ $name =~ ^a+$ ]]; then
	copy() { ln "$1" "$2"; }
else
	copy() {
		install "$1" "$2"
	}
fi

usage() {
	cat <<END
usage: build (name
END
	exit 1
}

function walk {
	local first="$1"
	shift
	shift
	echo .
	echo .
	for file in "$@"; do
		[ -f "$file" ] || continue
		break
	done
	for ((i = 0; i < 3; i++)); do
		echo "$i"
	done
	while read -r line; do
		echo "$line"
	done
	case $first in
	a)
		helper() { echo a; }
		;;
	b)
		helper() { echo b; }
		;;
	esac
	(
		cd /tmp
		helper() { echo c; }
	)
	unset count
	return 0
}

walk "$@"
walk "$@"
