package event

type indexes struct {
	byOp   *[OpSlots]*Info
	byName map[string]*Info
	// bySymbol has only functions of libraries.
	bySymbol map[string]*Info
}

var index = func() indexes {
	x := indexes{new([OpSlots]*Info), make(map[string]*Info, len(Catalog)), map[string]*Info{}}
	for i := range Catalog {
		x.byOp[Catalog[i].Op] = &Catalog[i]
		x.byName[Catalog[i].Name] = &Catalog[i]
		if !Catalog[i].Op.Source().Called() {
			continue
		}
		for _, name := range Catalog[i].SymbolNames() {
			x.bySymbol[name] = &Catalog[i]
		}
	}
	return x
}()
