package eventtext

import (
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
)

var settingKind = kind{
	word: "setting", timed: true, parse: doSetting,
	format: lines(func(r *Recording) []store.Setting { return r.Settings }, (*writer).setting),
}

func doSetting(p *parser, f *fields) {
	p.rec.Settings = append(p.rec.Settings, store.Setting{
		At: f.time(event.Thread{}), PID: uint32(f.uint("pid", 32)), Name: f.text("name"), Value: f.text("value"),
	})
}

func (w *writer) setting(s *store.Setting) {
	w.word("setting " + w.when(s.At))
	w.num("pid", uint64(s.PID))
	w.text("name", s.Name)
	w.text("value", s.Value)
}
