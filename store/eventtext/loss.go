package eventtext

import (
	"fmt"

	"github.com/ingero-io/ingero/event"
)

var lossKind = kind{
	word: "loss", named: true, parse: doLoss,
	format: lines(func(r *Recording) []event.Loss { return r.Losses }, (*writer).loss),
}

func doLoss(p *parser, f *fields) {
	for k := range event.NumLossKinds {
		if k.String() == f.name {
			p.rec.Losses = append(p.rec.Losses, event.Loss{Kind: k, Count: f.uint("count", 64)})
			return
		}
	}
	f.fail(fmt.Errorf("unknown loss %q", f.name))
}

func (w *writer) loss(l *event.Loss) {
	w.word("loss " + l.Kind.String())
	w.num("count", l.Count)
}
