package wire

import (
	"encoding/base64"
	"encoding/binary"
	"math"

	"github.com/ingero-io/ingero/cluster/health"
)

// replyVersion is the first byte of a reply.
const replyVersion = 1

const flagDegraded = 1

// FormatReply returns a reply as the text of a header, or an error if no agent would accept it.
func FormatReply(r *health.Reply) (string, error) {
	if err := checkReply(r); err != nil {
		return "", err
	}
	flags := byte(0)
	if r.Degraded {
		flags = flagDegraded
	}
	b := make([]byte, 0, 512)
	b = append(b, replyVersion, flags)
	b = binary.AppendUvarint(b, uint64(r.Width))
	b = binary.AppendUvarint(b, uint64(r.Merge))
	b = appendFloat(b, sendable(r.Reference))
	b = binary.AppendUvarint(b, uint64(r.Size))
	b = binary.AppendUvarint(b, uint64(r.Live))
	b = append(b, byte(len(r.Buckets)))
	last := uint64(0)
	for i := range r.Buckets {
		s := &r.Buckets[i]
		b = binary.AppendUvarint(b, s.Position-last)
		last = s.Position
		b = appendSummary(b, s)
	}
	return base64.RawURLEncoding.EncodeToString(b), nil
}

// ParseReply parses what FormatReply wrote.
func ParseReply(text string) (*health.Reply, error) {
	if len(text) > maxReply {
		return nil, wrong(Limit, "", "has %d bytes; %d at most", len(text), maxReply)
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil {
		return nil, wrong(Malformed, "", "is not base64 without padding")
	}
	s := scanner{b: b}
	s.version(replyVersion)
	flags := s.uint8("flags")
	if flags&^flagDegraded != 0 {
		s.fail(Value, "flags", "has bits that are not known: %#x", flags)
	}
	r := &health.Reply{
		Degraded: flags&flagDegraded != 0,
		Width:    uint32(s.varint("width", 1, health.MaxWidth)), Merge: uint32(s.varint("merge", 1, health.MaxMerge)),
		Reference: s.float("reference"),
		Size:      uint32(s.varint("size", 0, health.MaxCohortRanks)),
		Live:      uint32(s.varint("live", 0, health.MaxCohortRanks)),
	}
	n := int(s.uint8("buckets"))
	if n > health.Kept {
		s.fail(Limit, "buckets", "are %d; %d at most", n, health.Kept)
	}
	if s.err != nil {
		return nil, s.err
	}
	if n > 0 {
		r.Buckets = make([]health.Summary, n)
	}
	last := uint64(0)
	s.list = "buckets"
	for i := range r.Buckets {
		s.index = i
		last += s.varint("position", 0, health.MaxPosition-last)
		r.Buckets[i] = s.summary(last)
	}
	if err := s.end(); err != nil {
		return nil, err
	}
	return r, checkReply(r)
}

func checkReply(r *health.Reply) error {
	switch {
	case r.Width == 0 || r.Width > health.MaxWidth:
		return wrong(Value, "width", "is %d; from 1 to %d", r.Width, health.MaxWidth)
	case r.Merge == 0 || r.Merge > health.MaxMerge:
		return wrong(Value, "merge", "is %d; from 1 to %d", r.Merge, health.MaxMerge)
	case r.Size > health.MaxCohortRanks:
		return wrong(Value, "size", "is %d; %d at most", r.Size, health.MaxCohortRanks)
	case r.Live > health.MaxCohortRanks:
		return wrong(Value, "live", "is %d; %d at most", r.Live, health.MaxCohortRanks)
	case len(r.Buckets) > health.Kept:
		return wrong(Limit, "buckets", "are %d; %d at most", len(r.Buckets), health.Kept)
	}
	s := scanner{list: "buckets"}
	for i := range r.Buckets {
		s.index = i
		if why := checkSummary(&r.Buckets[i]); why != "" {
			s.fail(Value, "middle", "%s", why)
		}
		if i > 0 && r.Buckets[i].Position <= r.Buckets[i-1].Position {
			s.fail(Value, "position", "is not after the one before")
		}
	}
	return s.err
}

// appendSummary appends a summary without its position.
func appendSummary(b []byte, s *health.Summary) []byte {
	b = binary.AppendUvarint(b, uint64(s.N))
	for _, v := range [...]float32{s.Lo, s.Mid, s.Hi, sendable(s.Sigma)} {
		b = appendFloat(b, v)
	}
	return b
}

func (s *scanner) summary(position uint64) health.Summary {
	m := health.Summary{
		Position: position, N: uint32(s.varint("n", 1, health.MaxCohortRanks)),
		Lo: s.float("lo"), Mid: s.float("mid"), Hi: s.float("hi"), Sigma: s.float("sigma"),
	}
	if why := checkSummary(&m); s.err == nil && why != "" {
		s.fail(Value, "middle", "%s", why)
	}
	return m
}

// checkSummary returns what is wrong with a summary, empty if nothing is.
func checkSummary(s *health.Summary) string {
	switch {
	case s.Position > health.MaxPosition:
		return "is of no position"
	case s.N == 0 || s.N > health.MaxCohortRanks:
		return "is of no number of ranks"
	case !finite(s.Lo) || !finite(s.Mid) || !finite(s.Hi):
		return "is not finite"
	case s.Lo > s.Mid || s.Mid > s.Hi:
		return "is not in order"
	}
	return ""
}

// The published range of a threshold.
const (
	leastThreshold = 0.1
	mostThreshold  = 0.99
)

// usableThreshold reports whether agents accept a threshold.
func usableThreshold(v float64) bool { return v >= leastThreshold && v <= mostThreshold }

// NoThreshold returns the threshold of an answer without one.
func NoThreshold() float64 { return math.NaN() }
