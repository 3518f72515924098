package main

import (
	"fmt"
	"strconv"

	"github.com/ingero-io/ingero/agent"
)

// footprintFlag is a switch that knows whether it was set.
type footprintFlag agent.FootprintPolicy

func (f *footprintFlag) Set(s string) error {
	on, err := strconv.ParseBool(s)
	if err != nil {
		return fmt.Errorf("invalid value %q: want true or false", s)
	}
	*f = footprintFlag(agent.FootprintOff)
	if on {
		*f = footprintFlag(agent.FootprintOn)
	}
	return nil
}

func (f *footprintFlag) String() string {
	switch agent.FootprintPolicy(*f) {
	case agent.FootprintOn:
		return "true"
	case agent.FootprintOff:
		return "false"
	}
	return ""
}

func (f *footprintFlag) Type() string { return "bool" }
