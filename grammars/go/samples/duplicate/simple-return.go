package p

func f() int {
	return 1
	return 1
}
