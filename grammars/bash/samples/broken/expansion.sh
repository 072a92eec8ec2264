#!/bin/sh
value=${1#*{a}
if test -n "$value" | grep a; then
  for file do
    echo "$file"
  fi
done
