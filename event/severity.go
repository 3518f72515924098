package event

import "slices"

// Severity is how much a finding matters. Its text is that of reports, SQL and JSON.
type Severity string

// The severities. explain/diagnose/judge.go says which finding has which.
const (
	SeverityHigh   Severity = "HIGH"
	SeverityMedium Severity = "MEDIUM"
	SeverityLow    Severity = "LOW"
)

// Severities lists all, the worst first.
var Severities = []Severity{SeverityHigh, SeverityMedium, SeverityLow}

// CompareSeverity orders severities for slices.SortFunc, the worst first, and what is none of them before all.
func CompareSeverity(a, b Severity) int {
	return slices.Index(Severities, a) - slices.Index(Severities, b)
}
