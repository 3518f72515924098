// Package packaging has what makes releases of the programs, and services of them. It has no code: its tests
// install what was made.
package packaging
