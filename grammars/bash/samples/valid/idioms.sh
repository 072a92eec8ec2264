#!/bin/bash
# What the grammar does not know.
shopt -s extglob
part=${text:$i:1}
rest=("${all[@]:$from:$count}")
hex=$((0x$E))
mv !(keep|this) ./there
each() {
  for file do
    printf '%s\n' "$file"
  done
}
third=$(cut -d . -f $i-100 <"$list")

listening() {
  if has ss; then
    return 0
  fi
  if has netstat; then
    if netstat -help 2>&1 | grep "\-p proto" >/dev/null; then
      if netstat -help 2>&1 | grep "\-p protocol" >/dev/null; then
        netstat -an -P tcp | grep "\.$port " | grep "LISTEN"
      elif netstat -help 2>&1 | grep "\-p" >/dev/null; then
        netstat -ntl 2>/dev/null | grep ":$port "
      fi
    fi
  fi
}
old=${answer#*{\"name\":\""$domain"\",\"type\":\"TXT\"}
