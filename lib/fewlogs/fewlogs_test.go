package fewlogs_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/ingero-io/ingero/lib/fewlogs"
)

func TestOneLineOfAKindInAWhile(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	at := time.Unix(1000, 0)
	log := fewlogs.New(slog.New(slog.NewTextHandler(&b, nil)), func() time.Time { return at })
	lines := func() (n int) {
		n = strings.Count(b.String(), "\n")
		return n
	}
	for i := range 10_000 {
		log.Warn("a line is wrong", "err", errors.New(fmt.Sprint("number ", i)))
		log.With("remote", i).Warn("a line is wrong")
	}
	if lines() != 1 {
		t.Errorf("%d lines; 1", lines())
	}
	log.Error("another kind")
	log.Debug("of a lower level")
	if lines() != 2 {
		t.Errorf("%d lines; 2", lines())
	}
	at = at.Add(fewlogs.Every)
	log.Warn("a line is wrong")
	log.Error("another kind")
	if s := b.String(); lines() != 4 || strings.Count(s, "left_out=19999") != 1 || strings.Count(s, "left_out") != 1 {
		t.Errorf("%s", s)
	}
	at = at.Add(-time.Hour) // the clock is set back
	log.Warn("a line is wrong")
	if lines() != 5 {
		t.Errorf("%d lines; 5", lines())
	}
}

func TestManyKindsTakeLittle(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	log := fewlogs.New(slog.New(slog.NewTextHandler(&b, nil)), time.Now)
	for i := range 10_000 {
		log.Info(fmt.Sprint("kind ", i))
	}
	if n := strings.Count(b.String(), "\n"); n != 10_000 {
		t.Errorf("%d lines", n)
	}
}
