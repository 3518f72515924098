package eventtext

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/ingero-io/ingero/event"
)

var framesKind = kind{
	word: "frames", named: true, parse: doFrames,
	format: lines(func(r *Recording) []event.Stack { return r.Stacks }, (*writer).stack),
}

// doFrames reads a stack: frames ID pid=… cut of=FRAME,…, innermost first. A frame is KIND|FUNCTION|MODULE for machine
// code and python|FUNCTION|FILE|LINE.
func doFrames(p *parser, f *fields) {
	s := event.Stack{ID: f.number(f.name, 64), PID: uint32(f.uint("pid", 32)), Cut: f.flag("cut")}
	for text := range strings.SplitSeq(f.text("of"), ",") {
		part := strings.Split(text, "|")
		kind, ok := event.FrameByName(part[0])
		switch {
		case ok && kind == event.FramePython && len(part) == 4:
			s.Frames = append(s.Frames, event.Frame{
				Kind: kind, Symbol: part[1], File: part[2], Line: uint32(f.number(part[3], 32)),
			})
		case ok && kind != event.FramePython && len(part) == 3:
			s.Frames = append(s.Frames, event.Frame{Kind: kind, Symbol: part[1], Module: part[2]})
		default:
			f.fail(fmt.Errorf("bad frame %q", text))
		}
	}
	p.rec.Stacks = append(p.rec.Stacks, s)
}

func (w *writer) stack(s *event.Stack) {
	w.word("frames " + strconv.FormatUint(s.ID, 10))
	w.num("pid", uint64(s.PID))
	w.flag("cut", s.Cut)
	list := make([]string, len(s.Frames))
	for i := range s.Frames {
		f := &s.Frames[i]
		part := []string{f.Kind.String(), f.Symbol, f.Module}
		if f.Kind == event.FramePython {
			part = []string{f.Kind.String(), f.Symbol, f.File, strconv.FormatUint(uint64(f.Line), 10)}
		}
		list[i] = strings.Join(part, "|")
	}
	w.text("of", strings.Join(list, ","))
}

var codeKind = kind{
	word: "code", timed: true, parse: doCode,
	format: lines(func(r *Recording) []event.CodeSample { return r.CodeSamples }, (*writer).code),
}

// doCode reads what a thread ran, or where it went to sleep: code TIME thread= op= syscall= waits stack=, or n= samples
// at distances of every=.
func doCode(p *parser, f *fields) {
	t := f.must("thread")
	s := event.CodeSample{
		At: f.time(t.Thread), Thread: t.Thread, Comm: t.Comm, Op: f.op("op"), Syscall: int16(f.int("syscall", 16, -1)),
		Stack: f.uint("stack", 64), Waits: f.flag("waits"),
	}
	n, every := max(f.uint("n", 16), 1), f.dur("every")
	for range n {
		p.rec.CodeSamples = append(p.rec.CodeSamples, s)
		s.At += every
	}
	f.sum(s.At, every)
}

func (w *writer) code(s *event.CodeSample) {
	w.word("code " + w.when(s.At))
	w.thread("thread", s.Thread)
	w.op("op", s.Op)
	w.int("syscall", int64(s.Syscall), -1)
	w.flag("waits", s.Waits)
	w.hex("stack", s.Stack)
}
