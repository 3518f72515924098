package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"strings"

	"github.com/prometheus/otlptranslator"

	"github.com/ingero-io/ingero/metrics"
)

// metricsHead is the text before the tables.
//
//go:embed metrics.md
var metricsHead []byte

// metricsPage renders the catalogue of metrics.
func metricsPage() []byte {
	b := bytes.NewBuffer(bytes.Clone(metricsHead))
	names := otlptranslator.MetricNamer{WithMetricSuffixes: true}
	b.WriteString("\n## Metrics\n\n| OpenTelemetry | Prometheus | kind | unit | attributes | meaning " +
		"|\n|---|---|---|---|---|---|\n")
	kinds := map[metrics.Kind]otlptranslator.MetricType{
		metrics.Counter: otlptranslator.MetricTypeMonotonicCounter, metrics.Gauge: otlptranslator.MetricTypeGauge,
		metrics.UpDown:    otlptranslator.MetricTypeNonMonotonicCounter,
		metrics.Histogram: otlptranslator.MetricTypeExponentialHistogram,
	}
	for _, i := range metrics.Catalogue {
		name, err := names.Build(otlptranslator.Metric{Name: i.Name, Unit: i.Unit, Type: kinds[i.Kind]})
		if err != nil {
			panic(err) // a name in the catalogue is wrong
		}
		attrs := ""
		if len(i.Attrs) > 0 {
			attrs = "`" + strings.Join(i.Attrs, "`, `") + "`"
		}
		fmt.Fprintf(b, "| `%s` | `%s` | %s | %s | %s | %s |\n", i.Name, name, i.Kind, i.Unit, attrs, i.Doc)
	}
	b.WriteString("\n## Attributes\n\nPrometheus has underscores for the dots.\n\n| attribute | meaning |\n|---|---|\n")
	for _, a := range metrics.Attributes {
		fmt.Fprintf(b, "| `%s` | %s |\n", a.Name, a.Doc)
	}
	return b.Bytes()
}
