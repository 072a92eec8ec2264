package p

func f() error {
	err := g()
	if err != nil {
		return err
	}
	if err != nil {
		return err
	}
	return nil
}
