package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// pidList is a flag that takes process ids separated by commas or white space,
// as pgrep prints them, and may be repeated.
type pidList []uint32

func (p *pidList) Set(s string) error {
	fields := strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == ' ' || r == '\n' || r == '\t' })
	if len(fields) == 0 {
		return fmt.Errorf("no process id given (did pgrep find none?)")
	}
	for _, f := range fields {
		n, err := strconv.ParseUint(f, 10, 31)
		if err != nil || n == 0 {
			return fmt.Errorf("invalid process id %q", f)
		}
		if !slices.Contains(*p, uint32(n)) {
			*p = append(*p, uint32(n))
		}
	}
	return nil
}

func (p *pidList) String() string {
	var s []string
	for _, n := range *p {
		s = append(s, strconv.FormatUint(uint64(n), 10))
	}
	return strings.Join(s, ",")
}

func (p *pidList) Type() string { return "PID,…" }
