f() {
	if [ -n "$1" ]; then
		echo one
}
