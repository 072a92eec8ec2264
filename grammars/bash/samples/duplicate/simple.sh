prefix=/usr/local
prefix=/usr/local
echo "$prefix"
