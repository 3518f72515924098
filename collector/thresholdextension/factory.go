//go:generate mdatagen metadata.yaml

// Package thresholdextension keeps what a fleet knows of ranks, as an extension of the OpenTelemetry Collector. It
// answers on the responses to pushes, as a middleware of receivers, and serves GET endpoints. The processor of
// package stragglerprocessor hands it the pushes. What is decided is in cluster/health, and not here.
package thresholdextension

import (
	"context"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/config/confighttp"
	"go.opentelemetry.io/collector/extension"

	"github.com/ingero-io/ingero/collector/thresholdextension/internal/metadata"
)

// NewFactory returns the factory of the extension.
func NewFactory() extension.Factory {
	return extension.NewFactory(metadata.Type, defaultConfig, create, metadata.ExtensionStability)
}

func defaultConfig() component.Config {
	c := &Config{ServerConfig: confighttp.NewDefaultServerConfig()}
	c.ServerConfig.NetAddr.Endpoint = "localhost:8080"
	return c
}

func create(_ context.Context, set extension.Settings, c component.Config) (extension.Extension, error) {
	return newThreshold(c.(*Config), set.TelemetrySettings)
}
