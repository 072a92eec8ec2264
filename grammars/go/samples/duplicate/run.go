package p

func f(m map[string]int) {
	register(m, "alpha", 1)
	register(m, "beta", 2)
	register(m, "alpha", 1)
	register(m, "beta", 2)
}
