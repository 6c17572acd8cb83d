// Package ecs discovers nothing: there is no AWS here, and compiling its client takes a minute.
package ecs

import (
	"errors"

	"github.com/traefik/traefik/v3/pkg/config/dynamic"
	"github.com/traefik/traefik/v3/pkg/safe"
)

// Provider refuses to start.
type Provider struct{}

// Init returns the reason.
func (*Provider) Init() error { return errors.New("this build has no ECS provider") }

// Provide finds nothing.
func (*Provider) Provide(chan<- dynamic.Message, *safe.Pool) error { return nil }
