name="build
echo $name
