//go:generate mdatagen metadata.yaml

// Package thresholdextension keeps a fleet's state as an extension of the OpenTelemetry Collector. As a middleware of
// receivers it puts answers on the responses to pushes, and it serves GET endpoints. The processor of package
// stragglerprocessor hands it the pushes. All decisions are in cluster/health.
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
