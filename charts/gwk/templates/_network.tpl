
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
      - { key: kubernetes.io/metadata.name, operator: In, values: {{ append $namespaces (include "gwk.namespace" .) | uniq | toJson }} }
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

{{- /* Peers of "postgres", "redis", "prometheus", "collector", "smtp" or "oidc", as a list. Without peers in the values they are the namespaces
       of Services in the connection URLs. Empty if an address is outside the cluster or in a Secret: then they are any. */ -}}
{{- define "gwk.peers" -}}
{{- $v := .root.Values -}}
{{- $urls := list -}}
{{- if eq .of "postgres" -}}
{{- $urls = list ($v.postgres.existingSecret | empty | ternary $v.postgres.url "") -}}
{{- if or $v.postgres.migrationsUrl $v.postgres.migrationsExistingSecret -}}
{{- $urls = append $urls ($v.postgres.migrationsExistingSecret | empty | ternary $v.postgres.migrationsUrl "") -}}
{{- end -}}
{{- else if eq .of "redis" -}}
{{- $urls = list ($v.redis.existingSecret | empty | ternary $v.redis.url "") (default $v.redis.url $v.redis.engineUrl) -}}
{{- else if eq .of "prometheus" -}}
{{- $urls = list (include "gwk.prometheusAddress" .root | trim) -}}
{{- else if eq .of "smtp" -}}
{{- $urls = list $v.smtp.host -}}
{{- else if eq .of "oidc" -}}
{{- $urls = list $v.api.console.oidc.issuer -}}
{{- else -}}
{{- $urls = list $v.monitoring.tracing.endpoint -}}
{{- end -}}
{{- $peers := list -}}
{{- $known := true -}}
{{- range $urls -}}
{{- $host := regexReplaceAll "^[a-z]+://([^/]*@)?" . "" | regexFind "^[^/?:]*" -}}
{{- if regexMatch "^[^.]+\\.[^.]+\\.svc(\\.|$)" $host -}}
{{- $peers = append $peers (dict "namespaceSelector" (dict "matchLabels" (dict "kubernetes.io/metadata.name" (index (splitList "." $host) 1)))) -}}
{{- else -}}
{{- $known = false -}}
{{- end -}}
{{- end -}}
{{- $given := get $v.networkPolicy .of -}}
{{- $given | empty | ternary ($known | ternary (uniq $peers) list) $given | toJson -}}
{{- end -}}

{{- /* Values of `networkPolicy` whose empty list leaves an egress rule without peers, as a list of texts. */ -}}
{{- define "gwk.openPeers" -}}
{{- $v := .Values.networkPolicy -}}
{{- $open := list -}}
{{- range $of, $used := dict "postgres" (not .Values.demo.enabled) "redis" (not .Values.demo.enabled) "prometheus" (include "gwk.prometheusAddress" . | trim) "collector" .Values.monitoring.tracing.endpoint -}}
{{- if and $used (empty (include "gwk.peers" (dict "root" $ "of" $of) | fromJsonArray)) -}}
{{- $open = append $open (printf "networkPolicy.%s (port %v)" $of (get $v (printf "%sPort" $of))) -}}
{{- end -}}
{{- end -}}
{{- if and (include "gwk.smtpRule" .) (empty (include "gwk.peers" (dict "root" $ "of" "smtp") | fromJsonArray)) -}}
{{- $open = append $open (printf "networkPolicy.smtp (port %v)" .Values.smtp.port) -}}
{{- end -}}
{{- if and (include "gwk.oidcRule" .) (empty (include "gwk.peers" (dict "root" $ "of" "oidc") | fromJsonArray)) -}}
{{- $open = append $open (printf "networkPolicy.oidc (port %s)" (include "gwk.oidcPort" .)) -}}
{{- end -}}
{{- if not $v.kubernetesApi -}}
{{- $open = append $open (printf "networkPolicy.kubernetesApi (ports %s)" (join ", " $v.kubernetesApiPorts)) -}}
{{- end -}}
{{- sortAlpha $open | toJson -}}
{{- end -}}

{{- define "gwk.toPeers" -}}
{{- with include "gwk.peers" . | fromJsonArray }}
to:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "gwk.postgresRule" -}}
{{- $v := .Values.networkPolicy }}
- ports: [{ port: {{ .Values.demo.enabled | ternary 5432 $v.postgresPort }}, protocol: TCP }]
  {{- if .Values.demo.enabled }}
  to:
    {{- include "gwk.ownPeer" (dict "root" . "component" "demo-postgres") | nindent 4 }}
  {{- else }}
  {{- include "gwk.toPeers" (dict "root" . "of" "postgres") | nindent 2 }}
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
        matchLabels: { kubernetes.io/metadata.name: {{ include "gwk.namespace" . | quote }} }
  {{- else }}
  {{- include "gwk.toPeers" (dict "root" . "of" "redis") | nindent 2 }}
  {{- end }}
{{- end }}

{{- /* Egress rule for "prometheus" or "collector". Empty if it has no address. */ -}}
{{- define "gwk.observerRule" -}}
{{- if .address }}
{{- $v := .root.Values.networkPolicy }}
- ports: [{ port: {{ get $v (printf "%sPort" .of) }}, protocol: TCP }]
  {{- include "gwk.toPeers" . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "gwk.oidcPort" -}}
{{- regexFind ":[0-9]+$" (urlParse .Values.api.console.oidc.issuer).host | trimPrefix ":" | default "443" -}}
{{- end -}}

{{- define "gwk.oidcRule" -}}
{{- if .Values.api.console.oidc.issuer }}
{{- include "gwk.directRule" (dict "root" . "of" "oidc" "port" (include "gwk.oidcPort" .) "host" (regexReplaceAll ":[0-9]+$" (urlParse .Values.api.console.oidc.issuer).host "")) }}
{{- end }}
{{- end }}

{{- define "gwk.smtpRule" -}}
{{- if .Values.smtp.host }}
{{- include "gwk.directRule" (dict "root" . "of" "smtp" "port" .Values.smtp.port "host" .Values.smtp.host) }}
{{- end }}
{{- end }}

{{- /* Not empty if a program reaches the host without the proxy: no dot in its name, or listed in proxy.noProxy. The programs
also compare addresses with ranges (core/src/proxy/direct-hosts.ts). */ -}}
{{- define "gwk.isDirect" -}}
{{- $host := lower .host -}}
{{- if not (contains "." $host) }}yes{{ end -}}
{{- range .root.Values.proxy.noProxy -}}
{{- $name := regexReplaceAll ":[0-9]+$" . "" | trimPrefix "*" | trimPrefix "." | lower -}}
{{- if or (eq . "*") (eq $host $name) (hasSuffix (printf ".%s" $name) $host) }}yes{{ end -}}
{{- end -}}
{{- end -}}

{{- /* Egress rule for "smtp" or "oidc" at a port. With a proxy only direct hosts and known peers are reached without it. */ -}}
{{- define "gwk.directRule" -}}
{{- if or (not .root.Values.proxy.existingSecret) (include "gwk.peers" . | fromJsonArray) (include "gwk.isDirect" .) }}
- ports: [{ port: {{ .port }}, protocol: TCP }]
  {{- include "gwk.toPeers" . | nindent 2 }}
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

{{- define "gwk.proxyRule" -}}
- to:
    {{- toYaml .Values.networkPolicy.proxy | nindent 4 }}
  ports:
    {{- range .Values.networkPolicy.proxyPorts }}
    - { port: {{ . }}, protocol: TCP }
    {{- end }}
{{- end }}

{{- /* Not empty if at least one engine profile has a proxy ("some" true), or at least one has none ("some" false). */ -}}
{{- define "gwk.enginesWithProxy" -}}
{{- $some := .some -}}
{{- range $profile := (include "gwk.profiles" .root | fromYaml) }}{{ if eq $some (hasKey $profile "proxy") }}yes{{ end }}{{ end -}}
{{- end }}

{{- /* The bucket, and the credentials for it. */ -}}
{{- define "gwk.bucketRules" -}}
{{- $v := .Values.networkPolicy }}
{{- if and .Values.media.s3.bucket $v.bucket }}
- to:
    {{- toYaml $v.bucket | nindent 4 }}
  ports:
    {{- range $v.bucketPorts }}
    - { port: {{ . }}, protocol: TCP }
    {{- end }}
{{- end }}
{{- if eq $v.cloudCredentials "eks-pod-identity" }}
- to:
    - ipBlock: { cidr: 169.254.170.23/32 }
    - ipBlock: { cidr: 'fd00:ec2::23/128' }
  ports: [{ port: 80, protocol: TCP }]
{{- else if eq $v.cloudCredentials "gke-metadata" }}
- to:
    - ipBlock: { cidr: 169.254.169.254/32 }
  ports: [{ port: 80, protocol: TCP }]
# The metadata server behind a network plugin that applies policies after address translation.
- to:
    - ipBlock: { cidr: 169.254.169.252/32 }
  ports: [{ port: 987, protocol: TCP }, { port: 988, protocol: TCP }]
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
