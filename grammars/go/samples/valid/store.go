// Package store uses every construct that the queries of Go name.
package store

import "errors"

import (
	"fmt"
	other "os"
)

const limit = 10

const (
	_ = iota
	_
	first
	second
)

var (
	count int
	text  = `raw "text"`
)

var _ Reader = Store{}
var _ Reader = Store{}

var last = 'x'

type Reader interface {
	Read(key string) (int, error)
	Close() error
}

type (
	Key   = string
	Value struct {
		A, B int
		_    int
		_    int
		Next *Value
	}
)

type Store struct{ values map[string]int }

type List[T any] struct{ head T }

func init() { count = 1 }

func init() { count = 2 }

func (s *Store) Close() error { return nil }

func (v Value) Close() error { return errors.New("closed") }

func (l *List[T]) Close() error { return nil }

func (l List[T]) Len() int { return 0 }

func Walk(v *Value, c chan int, any interface{}) (n int) {
	a := Value{A: 1, B: 2}
	b := "text"
	var unset, other int
	const local = 1
	a.A = a.B
	a.B = 3
	a.Open, ok = true, false
	a.Open = true
	a.Shut = false
	a.Next = nil
	a.Rate = 0.5
	a.Name = "a"
	a.Raw = `b`
	a.Mark = 'c'
	a.Last = n
	v = v.Next
	v = v.Next
	_ = local
	_ = local
	n++
	n++
	fmt.Println(b)
	fmt.Println(b)
	x := <-c
loop:
	for i := 0; i < limit; i++ {
		if i == x {
			continue
		} else if i > unset {
			break
		} else {
			goto done
		}
	}
	switch n {
	case 1:
		n = 2
		fallthrough
	case 2:
		n = 3
	default:
		var unset = other
		return unset
	}
	switch any.(type) {
	case int:
		return 1
	case string:
		return 2
	}
	select {
	case c <- 1:
		return
	case n = <-c:
		break loop
	default:
	}
done:
	return n
}
