package wire

import (
	"encoding/binary"
	"math"
	"math/bits"
	"time"

	"github.com/ingero-io/ingero/cluster/health"
)

// dataVersion is the first byte of a push's data.
const dataVersion = 1

// Flags of a push.
const (
	flagFree = 1 << iota
	flagEcho
	flagOthers
	flagsPush = flagFree | flagEcho | flagOthers
)

// Bits that say which fields of a rank follow. The ten numbers come first, in the order of numbers.
const (
	numbersOfRank = 10
	saysExited    = 1 << numbersOfRank
	saysPlace     = 2 << numbersOfRank
	saysAll       = 4<<numbersOfRank - 1
)

var numberNames = [numbersOfRank]string{
	"sigma", "spread", "offset", "g", "excess", "shift", "interval", "own", "wait", "amount",
}

func numbers(r *health.RankPush) [numbersOfRank]*float32 {
	return [...]*float32{
		&r.Sigma, &r.Spread, &r.Offset, &r.G, &r.Excess, &r.Shift, &r.Interval, &r.Own, &r.Wait, &r.Amount,
	}
}

// AppendData appends a push's data to b, except its node, which is sent by name. A number that is not finite is left
// out. It returns an error if no fleet would accept the push.
func AppendData(b []byte, p *health.Push) ([]byte, error) {
	if err := checkPush(p); err != nil {
		return b, err
	}
	base := uint64(0)
	for i := range p.Ranks {
		base = max(base, p.Ranks[i].Newest)
	}
	flags := byte(0)
	if p.Free {
		flags |= flagFree
	}
	if p.Others {
		flags |= flagOthers
	}
	echo := p.Echo.N > 0 && checkSummary(&p.Echo) == ""
	if echo {
		flags |= flagEcho
	}
	b = append(b, dataVersion, flags)
	b = binary.LittleEndian.AppendUint64(b, p.Cohort)
	b = binary.LittleEndian.AppendUint64(b, uint64(p.Sent))
	b = binary.AppendUvarint(b, uint64(p.Size))
	b = binary.AppendUvarint(b, uint64(p.Width))
	b = binary.AppendUvarint(b, uint64(p.Merge))
	b = appendFloat(b, sendable(p.Reference))
	b = binary.AppendUvarint(b, base)
	b = append(b, byte(len(p.Ranks)))
	for i := range p.Ranks {
		b = appendRank(b, &p.Ranks[i], base)
	}
	if echo {
		b = binary.AppendUvarint(b, p.Echo.Position)
		b = appendSummary(b, &p.Echo)
	}
	return b, nil
}

// appendRank appends a rank; base is the newest position of all ranks.
func appendRank(b []byte, r *health.RankPush, base uint64) []byte {
	numbers := numbers(r)
	says, has := uint16(0), byte(0)
	for i, n := range numbers {
		if sendable(*n) != 0 {
			says |= 1 << i
		}
	}
	if r.Exited {
		says |= saysExited
	}
	if r.Place.Comm != 0 {
		says |= saysPlace
	}
	for i, x := range r.X {
		if finite(x) {
			has |= 1 << i
		}
	}
	b = binary.AppendUvarint(b, uint64(r.Rank))
	b = binary.AppendUvarint(b, base-r.Newest)
	b = append(b, byte(r.State)|byte(r.Mode)<<3|byte(r.Measured)<<6)
	b = binary.LittleEndian.AppendUint16(b, says)
	b = append(b, has)
	last := uint32(0)
	for i := range r.X {
		if has&(1<<i) != 0 {
			x := math.Float32bits(r.X[i])
			b = binary.AppendUvarint(b, zigzag(int32(x-last))) // consecutive values are similar
			last = x
		}
	}
	for i, n := range numbers {
		if says&(1<<i) != 0 {
			b = appendFloat(b, *n)
		}
	}
	if says&saysPlace != 0 {
		p := &r.Place
		b = binary.LittleEndian.AppendUint32(b, p.Comm)
		b = binary.LittleEndian.AppendUint32(b, p.Enqueued)
		b = binary.AppendUvarint(b, zigzag(int32(p.Enqueued-p.Completed)))
		b = binary.AppendUvarint(b, uint64(max(0, p.Open)))
	}
	return b
}

// sendable returns v, or 0, which means none, if v is not finite.
func sendable(v float32) float32 {
	if finite(v) {
		return v
	}
	return 0
}

// ParseData parses what AppendData wrote. Health.Node stays 0: the caller knows the node's name.
func ParseData(b []byte) (health.Push, error) {
	s := scanner{b: b}
	s.version(dataVersion)
	flags := s.uint8("flags")
	if flags&^flagsPush != 0 {
		s.fail(Value, "flags", "has bits that are not known: %#x", flags)
	}
	p := health.Push{
		Cohort: s.uint64("cohort"), Sent: time.Duration(s.uint64("sent")),
		Size:  int32(s.varint("size", 1, health.MaxCohortRanks)),
		Width: uint32(s.varint("width", 0, health.MaxWidth)), Merge: uint32(s.varint("merge", 0, health.MaxMerge)),
		Reference: s.float("reference"), Free: flags&flagFree != 0, Others: flags&flagOthers != 0,
	}
	base := s.varint("newest", 0, health.MaxPosition)
	n := int(s.uint8("ranks"))
	if n > health.MaxNodeRanks {
		s.fail(Limit, "ranks", "are %d; %d at most", n, health.MaxNodeRanks)
	}
	if s.err != nil {
		return health.Push{}, s.err
	}
	p.Ranks = make([]health.RankPush, n)
	s.list = "ranks"
	for i := range p.Ranks {
		s.index = i
		s.rank(&p.Ranks[i], base)
	}
	s.list = ""
	if flags&flagEcho != 0 {
		s.list, s.index = "echo", -1
		p.Echo = s.summary(s.varint("position", 0, health.MaxPosition))
		s.list = ""
	}
	if err := s.end(); err != nil {
		return health.Push{}, err
	}
	if err := checkPush(&p); err != nil {
		return health.Push{}, err
	}
	return p, nil
}

func (s *scanner) rank(r *health.RankPush, base uint64) {
	r.Rank = int32(s.varint("rank", 0, maxWorld-1))
	r.Newest = base - s.varint("newest", 0, base)
	is := s.uint8("state")
	r.State, r.Mode, r.Measured = health.State(is&7), health.Mode(is>>3&7), health.Measured(is>>6)
	says, has := s.uint16("says"), s.uint8("has")
	if says&^saysAll != 0 {
		s.fail(Value, "says", "has bits that are not known: %#x", says)
	}
	last := uint32(0)
	for i := range r.X {
		r.X[i] = float32(math.NaN())
		if has&(1<<i) != 0 {
			last += uint32(unzigzag(s.varint("x", 0, math.MaxUint32)))
			if r.X[i] = math.Float32frombits(last); !finite(r.X[i]) {
				s.fail(Value, "x", "is not finite")
			}
		}
	}
	if says&(saysExited-1) != 0 {
		numbers := numbers(r)
		for m := says & (saysExited - 1); m != 0; m &= m - 1 {
			i := bits.TrailingZeros16(m)
			*numbers[i] = s.float(numberNames[i])
		}
	}
	r.Exited = says&saysExited != 0
	if says&saysPlace == 0 {
		return
	}
	p := &r.Place
	p.Comm, p.Enqueued = s.uint32("comm"), s.uint32("enqueued")
	p.Completed = p.Enqueued - uint32(unzigzag(s.varint("completed", 0, math.MaxUint32)))
	p.Open = time.Duration(s.varint("open", 0, math.MaxInt64))
	if p.Comm == 0 {
		s.fail(Value, "comm", "is 0, which is none")
	}
}

// checkPush checks that health.Fleet can use a push. It does not check the node.
func checkPush(p *health.Push) error {
	switch {
	case p.Cohort == 0:
		return wrong(Value, "cohort", "is 0, which is none")
	case p.Sent <= 0:
		return wrong(Value, "sent", "is %d ns; more than 0", int64(p.Sent))
	case p.Size < 1 || p.Size > health.MaxCohortRanks:
		return wrong(Value, "size", "is %d; from 1 to %d", p.Size, health.MaxCohortRanks)
	case p.Width > health.MaxWidth:
		return wrong(Value, "width", "is %d; %d at most", p.Width, health.MaxWidth)
	case p.Merge > health.MaxMerge || p.Merge == 0 && p.Width > 0:
		return wrong(Value, "merge", "is %d with a width of %d; from 1 to %d", p.Merge, p.Width, health.MaxMerge)
	case len(p.Ranks) == 0:
		return wrong(Value, "ranks", "there are none")
	case len(p.Ranks) > health.MaxNodeRanks:
		return wrong(Limit, "ranks", "are %d; %d at most", len(p.Ranks), health.MaxNodeRanks)
	case len(p.Ranks) > int(p.Size):
		return wrong(Value, "ranks", "are %d of a cohort of %d", len(p.Ranks), p.Size)
	}
	s := scanner{list: "ranks"}
	for i := range p.Ranks {
		s.index = i
		s.checkRank(&p.Ranks[i])
	}
	return s.err
}

func (s *scanner) checkRank(r *health.RankPush) {
	switch {
	case r.Rank < 0 || r.Rank >= maxWorld:
		s.fail(Value, "rank", "is %d; from 0 to %d", r.Rank, maxWorld-1)
	case r.Newest > health.MaxPosition:
		s.fail(Value, "newest", "is %d; %d at most", r.Newest, uint64(health.MaxPosition))
	case r.State > health.Straggler:
		s.fail(Value, "state", "is %d, which is none", r.State)
	case r.Mode > health.ModeLocalBaseline:
		s.fail(Value, "mode", "is %d, which is none", r.Mode)
	case r.Measured > health.MeasuredHost:
		s.fail(Value, "measured", "is %d, which is none", r.Measured)
	}
}
