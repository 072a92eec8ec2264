package p

func f() string {
	return "text
}
