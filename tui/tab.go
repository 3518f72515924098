package tui

// tab is one of the tabs. It has no state: the data is in the model.
type tab interface {
	title() string
	badge(m *Model) uint64 // number shown after the title
	orders() []string      // sort orders; the first is the default
	page(m *Model, width int) page
}

// page is what a tab shows.
type page struct {
	above, below []string // lines above and below the table
	columns      []column
	rows         []row
	empty        string // shown if there are no rows
}

// The tabs.
var (
	findingsTab tab = findings{}
	ledgerTab   tab = ledger{}
	nodesTab    tab = nodesPage{}
)

// tabs is the list of tabs. A new one is a file and a line here.
var tabs = [...]tab{
	calls{},
	ledgerTab,
	findingsTab,
	memory{},
	nodesTab,
}
