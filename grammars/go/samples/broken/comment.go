// Package store keeps things.
