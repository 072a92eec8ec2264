usage() {
	echo "usage: build"
}

main() {
	usage
}

usage() {
	echo "usage: build name"
}
