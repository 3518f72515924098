package wire

import (
	"encoding/binary"

	"github.com/ingero-io/ingero/cluster/health"
)

// orderBytes is how long the attribute attrOrder is.
const orderBytes = 16

// appendOrder appends the order of a push to b. It is beside the push's data, not in it: fleets of before know the
// data's fields only, and leave out attributes that they do not know.
func appendOrder(b []byte, p *health.Push) []byte {
	b = binary.LittleEndian.AppendUint64(b, p.Run)
	return binary.LittleEndian.AppendUint64(b, p.Number)
}

// SetOrder reads the order of a push: the value of OrderAttribute.
func (p *Push) SetOrder(b []byte) error {
	if len(b) != orderBytes {
		return wrong(Malformed, attrOrder, "has %d bytes; %d", len(b), orderBytes)
	}
	run := binary.LittleEndian.Uint64(b)
	if run == 0 {
		return wrong(Value, attrOrder, "is of no run")
	}
	p.Health.Run, p.Health.Number = run, binary.LittleEndian.Uint64(b[8:])
	return nil
}
