#!/bin/sh
value="${value:-$(read_value name}"
printf "%s" "$value"
