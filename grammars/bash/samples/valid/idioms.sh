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
jobs=$(( ($(nproc | tail -n 1 | cut -d: -f2) + 1) * 2 ))

find_entry() (
  describe() {
    return $?
  }
  # -- code --
  if [ $# -lt 3 ] && [[ ${1:1} =~ $digits || ${2:1} =~ $digits || ${1} =~ $digits || ${2} =~ $digits ]] && ! echo $1 | grep -q '[0-9]' || ! echo $2 | grep -q '[0-9]'
  then
    if echo ${1^^} | grep -q '[B-Z]'
    then
      key=${2^^}
    fi
    if [[ ${lang^^} == ':LIST' ]]
    then
      print_all "A.*B"
    else
      if [[ ${lang^^} == 'MAPLE' ]] && grep -q 'MAPLE' $page
      then
        pattern='MAPLE.*REFS'
      fi
      [ $(wc -c < $dir/part) -eq 0 ] && awk -v want="${lang}" -F'[()]' '/^\(/{f=(want==$2)} f' ${dir}/all > ${dir}/part
      if [ $(wc -c < $dir/part) -ne 0 ]
      then
        printf "${lang^^} is unavailable\n"
      fi
    fi
  fi
)
