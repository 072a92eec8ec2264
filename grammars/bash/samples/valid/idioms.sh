#!/bin/bash
# What the grammar does not know.
shopt -s extglob
part=${text:$i:1}
rest=("${all[@]:$from:$count}")
hex=$((0x$E))
mv !(keep|this) ./there
