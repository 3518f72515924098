package tui

// tab is one of the views. It keeps nothing: what there is to show is in the model.
type tab interface {
	title() string
	badge(m *Model) uint64 // how much there is to look at, behind the title
	orders() []string      // in which rows can be sorted; the first is the usual one
	page(m *Model, width int) page
}

// page is what a tab shows of the last second.
type page struct {
	above, below []string // the table
	columns      []column
	rows         []row
	empty        string // said if there are no rows
}

// The tabs.
var (
	findingsTab tab = findings{}
	ledgerTab   tab = ledger{}
	nodesTab    tab = nodes{}
)

// tabs is the list. A new one is a file and a line here.
var tabs = [...]tab{
	calls{},
	ledgerTab,
	findingsTab,
	memory{},
	nodesTab,
}
