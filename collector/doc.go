// Package collector has no code: the components of the OpenTelemetry Collector that it is the module of are in
// the folders below. manifest.yaml says what the distribution is built of.
package collector
