package wire

// Heatmap is how long the calls of an operation took, over time. Row r counts those that
// took more than 2^((r-1)/4) ns and at most 2^(r/4); row 0 those of up to 1 ns.
type Heatmap struct {
	About
	Op       string   `json:"op"`
	Ops      []string `json:"ops"` // that there are in the window, most time first
	StartNS  uint64   `json:"start_ns"`
	ColumnNS uint64   `json:"column_ns"`
	Columns  int      `json:"columns"`
	Exact    bool     `json:"exact"` // every call is counted, else those that are stored, by what they stand for
	Calls    uint64   `json:"calls"`
	Cells    []uint64 `json:"cells"` // column, row, calls; column, row, calls; …
}
