package eventtext

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
)

// Error is a mistake in a text.
type Error struct {
	Line int // from 1
	Err  error
}

func (e *Error) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }

// Unwrap returns the mistake without its place.
func (e *Error) Unwrap() error { return e.Err }

// Parse reads a text.
func Parse(text string) (*Recording, error) {
	p := &parser{
		rec:    &Recording{Base: DefaultBase},
		labels: map[string]store.ThreadInfo{},
		cursor: map[event.Thread]uint64{},
	}
	nodes, err := tree(text)
	if err != nil {
		return nil, err
	}
	if err := p.runNodes(nodes, nil); err != nil {
		return nil, err
	}
	return p.rec, nil
}

// node is a line, or a block of them to repeat.
type node struct {
	line  int
	words []string
	count int
	every uint64
	body  []node
}

// tree finds the blocks of a text.
func tree(text string) ([]node, error) {
	stack := [][]node{nil}
	var open []node
	n := 0
	for line := range strings.Lines(text) {
		n++
		w, err := words(strings.TrimSuffix(line, "\n"))
		if err != nil {
			return nil, &Error{n, err}
		}
		top := len(stack) - 1
		switch {
		case len(w) == 0:
		case w[0] == "repeat":
			r, err := parseRepeat(w)
			if err != nil {
				return nil, &Error{n, err}
			}
			r.line = n
			open, stack = append(open, r), append(stack, nil)
		case w[0] == "}":
			if len(w) > 1 || top == 0 {
				return nil, &Error{n, errors.New("closing brace without a repeat, or with text after it")}
			}
			r := open[top-1]
			r.body = stack[top]
			open, stack = open[:top-1], stack[:top]
			stack[top-1] = append(stack[top-1], r)
		default:
			stack[top] = append(stack[top], node{line: n, words: w})
		}
	}
	if len(open) > 0 {
		return nil, &Error{open[len(open)-1].line, errors.New("repeat without a closing brace")}
	}
	return stack[0], nil
}

func parseRepeat(w []string) (node, error) {
	bad := fmt.Errorf("want: repeat COUNT [every DURATION] {")
	if len(w) < 3 || w[len(w)-1] != "{" {
		return node{}, bad
	}
	count, err := strconv.Atoi(w[1])
	if err != nil || count < 0 || count > MaxEvents {
		return node{}, bad
	}
	r := node{count: count}
	switch {
	case len(w) == 3:
	case len(w) == 5 && w[2] == "every":
		if r.every, err = parseDuration(w[3]); err != nil {
			return node{}, err
		}
	default:
		return node{}, bad
	}
	return r, nil
}

type parser struct {
	rec    *Recording
	labels map[string]store.ThreadInfo
	cursor map[event.Thread]uint64
	steps  int    // lines executed and blocks repeated
	drawn  uint64 // values taken from ranges
	pairs  []pair // memory for those of the next line
}

// runNodes executes nodes. offset is the start of the block they are in, relative to
// the base; nil at the top, where a base line may still come.
func (p *parser) runNodes(nodes []node, offset *uint64) error {
	var at uint64
	if offset != nil {
		at = *offset
	}
	for _, n := range nodes {
		if err := p.step(n.line); err != nil {
			return err
		}
		if n.words != nil {
			if err := p.line(n.words, at); err != nil {
				return &Error{n.line, err}
			}
			continue
		}
		for i := range n.count {
			if err := p.step(n.line); err != nil {
				return err
			}
			start := at + uint64(i)*n.every
			if err := p.runNodes(n.body, &start); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *parser) step(line int) error {
	if p.steps++; p.steps > MaxEvents {
		return &Error{line, fmt.Errorf("text expands to more than %d lines", MaxEvents)}
	}
	return nil
}

// draw picks a value in [lo, hi], the same one for the same place in the order
// of execution.
func (p *parser) draw(lo, hi uint64) uint64 {
	p.drawn++
	z := p.drawn * 0x9e3779b97f4a7c15 // splitmix64
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	z ^= z >> 31
	if span := hi - lo + 1; span != 0 {
		return lo + z%span
	}
	return z
}

// line executes one line in a block that starts at the given offset.
func (p *parser) line(w []string, offset uint64) error {
	word, rest := w[0], w[1:]
	k := kindOf[word]
	if k == nil {
		return fmt.Errorf("unknown kind of line %q", word)
	}
	f := &fields{p: p, offset: offset, pairs: p.pairs[:0]}
	defer func() { p.pairs = f.pairs }()
	if k.timed {
		if len(rest) == 0 {
			return fmt.Errorf("%s: want a time", word)
		}
		f.when, rest = rest[0], rest[1:]
	}
	if k.named {
		if len(rest) == 0 || strings.Contains(rest[0], "=") {
			return fmt.Errorf("%s: want a name", word)
		}
		f.name, rest = rest[0], rest[1:]
	}
	if err := f.read(rest); err != nil {
		return fmt.Errorf("%s: %w", word, err)
	}
	k.parse(p, f)
	if err := f.finish(); err != nil {
		return fmt.Errorf("%s: %w", word, err)
	}
	return nil
}
