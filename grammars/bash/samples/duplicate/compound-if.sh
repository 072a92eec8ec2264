if [ -z "$1" ]; then
	exit 1
fi
if [ -z "$1" ]; then
	exit 1
fi
echo "$1"
