
{{- define "gwk.ownPeer" -}}
- podSelector:
    matchLabels:
      {{- include "gwk.selector" . | nindent 6 }}
{{- end }}

{{- define "gwk.enginePeer" -}}
{{- /* Engines may run in other namespaces. The operator sets their labels. */ -}}
- podSelector:
    matchLabels: { app.kubernetes.io/managed-by: gwk-operator, app.kubernetes.io/component: engine }
  {{- $namespaces := include "gwk.namespaces" . | fromJsonArray }}
  {{- if has "*" .Values.operator.namespaces }}
  namespaceSelector: {}
  {{- else }}
  namespaceSelector:
    matchExpressions:
      - { key: kubernetes.io/metadata.name, operator: In, values: {{ append $namespaces .Release.Namespace | uniq | toJson }} }
  {{- end }}
{{- end }}

{{- define "gwk.dnsRule" -}}
- to:
    {{- toYaml .Values.networkPolicy.dns | nindent 4 }}
  ports:
    {{- range .Values.networkPolicy.dnsPorts }}
    - { port: {{ . }}, protocol: UDP }
    - { port: {{ . }}, protocol: TCP }
    {{- end }}
{{- end }}

{{- define "gwk.postgresRule" -}}
{{- $v := .Values.networkPolicy }}
- ports: [{ port: {{ .Values.demo.enabled | ternary 5432 $v.postgresPort }}, protocol: TCP }]
  {{- if .Values.demo.enabled }}
  to:
    {{- include "gwk.ownPeer" (dict "root" . "component" "demo-postgres") | nindent 4 }}
  {{- else if $v.postgres }}
  to:
    {{- toYaml $v.postgres | nindent 4 }}
  {{- end }}
{{- end }}

{{- define "gwk.redisRule" -}}
{{- $v := .Values.networkPolicy }}
- ports: [{ port: {{ .Values.demo.enabled | ternary 6379 $v.redisPort }}, protocol: TCP }]
  {{- if .Values.demo.enabled }}
  to:
    - podSelector:
        matchLabels:
          {{- include "gwk.selector" (dict "root" . "component" "demo-redis") | nindent 10 }}
      namespaceSelector:
        matchLabels: { kubernetes.io/metadata.name: {{ .Release.Namespace }} }
  {{- else if $v.redis }}
  to:
    {{- toYaml $v.redis | nindent 4 }}
  {{- end }}
{{- end }}

{{- /* Egress rule for "prometheus" or "collector". Empty if it has no address. */ -}}
{{- define "gwk.observerRule" -}}
{{- if .address }}
{{- $v := .root.Values.networkPolicy }}
- ports: [{ port: {{ get $v (printf "%sPort" .of) }}, protocol: TCP }]
  {{- with get $v .of }}
  to:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}
{{- end }}

{{- /* Not empty if workers query Prometheus. A URL with a password comes as PROMETHEUS_URL in worker.extraEnv. */ -}}
{{- define "gwk.prometheusAddress" -}}
{{- .Values.monitoring.prometheus.url }}
{{- range .Values.worker.extraEnv }}{{ if eq .name "PROMETHEUS_URL" }}{{ .name }}{{ end }}{{ end }}
{{- end }}

{{- define "gwk.collectorRule" -}}
{{- include "gwk.observerRule" (dict "root" . "of" "collector" "address" .Values.monitoring.tracing.endpoint) }}
{{- end }}

{{- define "gwk.kubernetesRule" -}}
{{- $v := .Values.networkPolicy }}
- ports:
    {{- range $v.kubernetesApiPorts }}
    - { port: {{ . }}, protocol: TCP }
    {{- end }}
  {{- with $v.kubernetesApi }}
  to:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}

{{- define "gwk.publicPeers" -}}
- ipBlock: { cidr: 0.0.0.0/0, except: {{ concat .Values.networkPolicy.privateRanges (include "gwk.ranges" (dict "of" .Values.forbiddenRanges "six" false) | fromJsonArray) | uniq | toJson }} }
- ipBlock: { cidr: '::/0', except: {{ concat .Values.networkPolicy.privateRanges6 (include "gwk.ranges" (dict "of" .Values.forbiddenRanges "six" true) | fromJsonArray) | uniq | toJson }} }
{{- end }}

{{- define "gwk.ranges" -}}
{{- $found := list -}}
{{- $six := .six -}}
{{- range .of }}{{ if eq (contains ":" .) $six }}{{ $found = append $found . }}{{ end }}{{ end -}}
{{- toJson $found -}}
{{- end }}

{{- define "gwk.metricsRule" -}}
{{- with .root.Values.networkPolicy.metrics }}
- from:
    {{- toYaml . | nindent 4 }}
  ports: [{ port: {{ $.port }}, protocol: TCP }]
{{- end }}
{{- end }}
