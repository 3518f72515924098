package main

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"go.yaml.in/yaml/v3"
)

// known has the descriptions of all metrics.
func known() (text string) {
	for _, d := range []*prometheus.Desc{
		eventsTotal, parseErrors, droppedDesc, connectedDesc, lastDesc, activeDesc, sinceDesc, unsentDesc, causesDesc,
		waitingDesc,
	} {
		text += d.String()
	}
	return text
}

var metric = regexp.MustCompile(`ingero_sink_\w+`)

// The dashboard that is shipped shows metrics that there are.
func TestTheDashboardIsOfMetricsThatThereAre(t *testing.T) {
	b, err := os.ReadFile("../../../deploy/grafana/ingero-fleet.json")
	if err != nil {
		t.Fatal(err)
	}
	names := metric.FindAllString(string(b), -1)
	if len(names) < 6 {
		t.Errorf("only %q", names)
	}
	for _, n := range names {
		if !strings.Contains(known(), `"`+n+`"`) {
			t.Errorf("there is no metric %s", n)
		}
	}
}

// The alerts that are shipped ask for metrics that there are, and say what to do.
func TestAlertsAreOfMetricsThatThereAre(t *testing.T) {
	b, err := os.ReadFile("../../../deploy/prometheus/stragglers.yml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Groups []struct {
			Name  string `yaml:"name"`
			Rules []struct {
				Alert       string            `yaml:"alert"`
				Expr        string            `yaml:"expr"`
				For         string            `yaml:"for"`
				Labels      map[string]string `yaml:"labels"`
				Annotations map[string]string `yaml:"annotations"`
			} `yaml:"rules"`
		} `yaml:"groups"`
	}
	d := yaml.NewDecoder(strings.NewReader(string(b)))
	d.KnownFields(true)
	if err := d.Decode(&file); err != nil {
		t.Fatal(err)
	}
	alerts := 0
	for _, g := range file.Groups {
		for _, r := range g.Rules {
			alerts++
			names := metric.FindAllString(r.Expr, -1)
			if r.Alert == "" || len(names) == 0 || r.Labels["severity"] == "" || r.Annotations["summary"] == "" ||
				r.Annotations["description"] == "" {
				t.Errorf("%+v is not complete", r)
			}
			for _, n := range names {
				if !strings.Contains(known(), `"`+n+`"`) {
					t.Errorf("%s: there is no metric %s", r.Alert, n)
				}
			}
		}
	}
	if alerts < 4 {
		t.Errorf("%d alerts", alerts)
	}
}
