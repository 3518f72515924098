// Package collector has no code. Its module has the OpenTelemetry Collector components in the folders below.
// manifest.yaml says what the distribution is built from.
package collector
