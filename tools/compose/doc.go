// Package compose has no code: its tests read deploy/compose with Compose's own parser and Prometheus's. It is a module
// of its own, because its dependencies are none of the program's.
package compose
