package p

func (s *Store) Get(key string) int { return s.values[key] }

func (s *Store) Set(key string, value int) { s.values[key] = value }

func (s Store) Get(key string) int {
	return s.values[key]
}
