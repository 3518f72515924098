{{- define "ingero.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- $name := .Values.nameOverride | default .Chart.Name -}}
{{- if contains $name .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* By what a part's pods are found: (list $ "fleet"). */}}
{{- define "ingero.selector" -}}
{{- $ := index . 0 -}}
app.kubernetes.io/name: {{ $.Values.nameOverride | default $.Chart.Name }}
app.kubernetes.io/instance: {{ $.Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end -}}

{{- define "ingero.labels" -}}
{{- $ := index . 0 -}}
{{ include "ingero.selector" . }}
app.kubernetes.io/version: {{ $.Values.image.tag | default $.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ $.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" $.Chart.Name $.Chart.Version | replace "+" "_" }}
{{- end -}}

{{/* (list $ "ingero-fleet") */}}
{{- define "ingero.image" -}}
{{- $ := index . 0 -}}
image: {{ printf "%s/%s:%s" $.Values.image.registry (index . 1) ($.Values.image.tag | default $.Chart.AppVersion) | quote }}
imagePullPolicy: {{ $.Values.image.pullPolicy }}
{{- end -}}

{{/* What pods have in common: (list $ .Values.fleet "fleet"). */}}
{{- define "ingero.pod" -}}
{{- $ := index . 0 -}}
{{- $v := index . 1 -}}
automountServiceAccountToken: false
enableServiceLinks: false
serviceAccountName: {{ include "ingero.fullname" $ }}
{{- with $.Values.image.pullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $v.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with $v.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $v.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $v.affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* Labels and annotations of a pod: (list $ .Values.fleet "fleet"). */}}
{{- define "ingero.podMetadata" -}}
{{- $v := index . 1 -}}
labels:
  {{- include "ingero.labels" (list (index . 0) (index . 2)) | nindent 2 }}
  {{- with $v.podLabels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- with $v.podAnnotations }}
annotations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* Of a container without any rights of its own. */}}
{{- define "ingero.unprivileged" -}}
readOnlyRootFilesystem: true
allowPrivilegeEscalation: false
capabilities: {drop: [ALL]}
{{- end -}}

{{- define "ingero.tlsSecret" -}}
{{- .Values.tls.existingSecret | default (printf "%s-tls" (include "ingero.fullname" .)) -}}
{{- end -}}

{{- define "ingero.tokenSecret" -}}
{{- .Values.tokens.existingSecret | default (printf "%s-tokens" (include "ingero.fullname" .)) -}}
{{- end -}}

{{/* The fleets that push names, separated by commas. */}}
{{- define "ingero.fleets" -}}
{{- if .Values.push.fleets -}}
{{- join "," .Values.push.fleets -}}
{{- else -}}
{{- $name := printf "%s-fleet" (include "ingero.fullname" .) -}}
{{- $list := list -}}
{{- range until (int .Values.fleet.replicas) -}}
{{- $list = append $list (printf "%s://%s-%d.%s.%s.svc:4318" (ternary "http" "https" $.Values.tls.insecure) $name . $name $.Release.Namespace) -}}
{{- end -}}
{{- join "," $list -}}
{{- end -}}
{{- end -}}

{{/* Is what tracers send kept by the Echo of this chart? */}}
{{- define "ingero.toEcho" -}}
{{- if and .Values.echo.enabled (not .Values.otlp) -}}yes{{- end -}}
{{- end -}}

{{- define "ingero.otlp" -}}
{{- if .Values.otlp -}}
{{- .Values.otlp -}}
{{- else if .Values.echo.enabled -}}
{{- printf "%s://%s-echo.%s.svc:4318" (ternary "http" "https" .Values.tls.insecure) (include "ingero.fullname" .) .Release.Namespace -}}
{{- end -}}
{{- end -}}

{{/* Variables of those that send to Echo. */}}
{{- define "ingero.otlpEnv" -}}
{{- if include "ingero.toEcho" . }}
- name: ECHO_TOKEN
  valueFrom: {secretKeyRef: {name: {{ include "ingero.tokenSecret" . }}, key: echo}}
- {name: OTEL_EXPORTER_OTLP_HEADERS, value: authorization=Bearer $(ECHO_TOKEN)}
{{- if not .Values.tls.insecure }}
- {name: OTEL_EXPORTER_OTLP_CERTIFICATE, value: /etc/ingero/tls/ca.crt}
{{- end }}
{{- end }}
{{- end -}}

{{/* Does the agent's pod need the certificate that signs those of Fleet and Echo? */}}
{{- define "ingero.agentCA" -}}
{{- if and (not .Values.tls.insecure) (or (include "ingero.toEcho" .) (and .Values.push.enabled (not .Values.push.fleets))) -}}yes{{- end -}}
{{- end -}}

{{- define "ingero.check" -}}
{{- if and .Values.push.enabled (not .Values.agent.enabled) -}}
{{- fail "push.enabled reads what the tracer records: set agent.enabled, too" -}}
{{- end -}}
{{- if and .Values.push.enabled (not .Values.fleet.enabled) (not .Values.push.fleets) -}}
{{- fail "push.enabled needs a fleet: set fleet.enabled, or push.fleets=[https://HOST:4318]" -}}
{{- end -}}
{{- if and .Values.sink.enabled (not .Values.push.enabled) -}}
{{- fail "sink.enabled serves what push tells: set push.enabled, too" -}}
{{- end -}}
{{- if and .Values.tls.insecure .Values.tls.existingSecret -}}
{{- fail "tls.insecure and tls.existingSecret contradict each other" -}}
{{- end -}}
{{- if not (or .Values.agent.enabled .Values.fleet.enabled .Values.echo.enabled .Values.dashboards.enabled .Values.alerts.enabled) -}}
{{- fail "nothing is enabled: set agent.enabled, fleet.enabled or echo.enabled" -}}
{{- end -}}
{{- end -}}
