configure --prefix="$PREFIX" --quiet
make -j "$JOBS" all
configure --prefix="$PREFIX" --quiet
make -j "$JOBS" all
