package p

func f(x int) int {
	if x > 0 {
		return 1
	return 0
}
