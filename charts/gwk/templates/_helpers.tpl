{{- define "gwk.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 38 | trimSuffix "-" -}}
{{- end -}}

{{- /* Prefix of object names. At most 38 characters, so that suffixes fit, also that of a StatefulSet's revision. */ -}}
{{- define "gwk.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 38 | trimSuffix "-" -}}
{{- else if contains (include "gwk.name" .) .Release.Name -}}
{{- .Release.Name | trunc 38 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "gwk.name" .) | trunc 38 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "gwk.namespace" -}}
{{- default .Release.Namespace .Values.namespaceOverride -}}
{{- end -}}

{{- /* Labels that select pods. They never change. Takes (dict "root" $ "component" "api"). */ -}}
{{- define "gwk.selector" -}}
app.kubernetes.io/name: {{ include "gwk.name" .root | quote }}
app.kubernetes.io/instance: {{ .root.Release.Name | quote }}
app.kubernetes.io/component: {{ .component | quote }}
{{- end -}}

{{- /* All labels of an object. `labels` adds more. merge() writes each key once: strict YAML readers refuse duplicates. */ -}}
{{- define "gwk.labels" -}}
{{ include "gwk.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service | quote }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" | quote }}
{{ merge (dict) (default (dict) .labels) .root.Values.commonLabels (dict "app.kubernetes.io/part-of" "gwk") | toYaml }}
{{- end -}}

{{- /* Name, namespace, labels and annotations. Takes (dict "root" $ "component" "api" "name" "..."). */ -}}
{{- define "gwk.metadata" -}}
name: {{ .name | quote }}
{{- if not .clusterWide }}
namespace: {{ default (include "gwk.namespace" .root) .namespace | quote }}
{{- end }}
labels:
  {{- include "gwk.labels" . | nindent 2 }}
{{- with merge (dict) (default (dict) .annotations) .root.Values.commonAnnotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- /* Annotations of objects whose deletion loses data. Argo CD ignores Helm's annotation when it prunes. */ -}}
{{- define "gwk.keepAnnotations" -}}
helm.sh/resource-policy: keep
argocd.argoproj.io/sync-options: Prune=false,Delete=false
{{- end -}}

{{- define "gwk.image" -}}
{{- $name := printf "gwk-%s:%s" .component (default .root.Chart.AppVersion .root.Values.image.tag) -}}
{{- with .root.Values.image.registry }}{{ $name = printf "%s/%s" (trimSuffix "/" .) $name }}{{ end -}}
{{- with get .root.Values.image.digests .component }}{{ $name = printf "%s@%s" $name . }}{{ end -}}
{{- include "gwk.mirroredImage" (dict "root" .root "image" $name) -}}
{{- end -}}

{{- /* An image in `global.imageRegistry`, which replaces its host. Takes (dict "root" $ "image" "..."). */ -}}
{{- define "gwk.mirroredImage" -}}
{{- $registry := (default (dict) .root.Values.global).imageRegistry -}}
{{- if $registry -}}
{{ trimSuffix "/" $registry }}/{{ regexReplaceAll "^([^/]*[.:][^/]*|localhost)/" .image "" }}
{{- else -}}
{{ .image }}
{{- end -}}
{{- end -}}

{{- /* Pull secrets of the chart and of a parent chart, as a list. A parent chart may give names only. */ -}}
{{- define "gwk.pullSecrets" -}}
{{- $all := .Values.image.pullSecrets -}}
{{- range (default (dict) .Values.global).imagePullSecrets -}}
{{- $all = append $all (kindIs "string" . | ternary (dict "name" .) .) -}}
{{- end -}}
{{- uniq $all | toJson -}}
{{- end -}}

{{- define "gwk.imagePullSecrets" -}}
{{- with include "gwk.pullSecrets" . | fromJsonArray }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- /* Values of the service account of a component. The Job that makes secrets has those of `jobs`. */ -}}
{{- define "gwk.serviceAccount" -}}
{{- $values := get .root.Values (eq .component "secrets" | ternary "jobs" .component) -}}
{{- default (dict "create" true) (get (default (dict) $values) "serviceAccount") | toJson -}}
{{- end -}}

{{- define "gwk.serviceAccountName" -}}
{{- default (printf "%s-%s" (include "gwk.fullname" .root) .component) (include "gwk.serviceAccount" . | fromJson).name -}}
{{- end -}}

{{- /* Names of Secrets. */ -}}
{{- define "gwk.secretsName" -}}
{{- default (include "gwk.fullname" .) .Values.secrets.existingSecret -}}
{{- end -}}

{{- define "gwk.demoSecretName" -}}
{{ include "gwk.fullname" . }}-demo
{{- end -}}

{{- define "gwk.connectionsName" -}}
{{ include "gwk.fullname" . }}-connections
{{- end -}}

{{- define "gwk.tlsSecretName" -}}
{{- default (printf "%s-internal-tls" (include "gwk.fullname" .)) .Values.internal.tls.existingSecret -}}
{{- end -}}

{{- /* Secret and key of the connection URL of "postgres" or "redis". */ -}}
{{- define "gwk.urlSecret" -}}
{{- $values := get .root.Values .of -}}
{{- if $values.existingSecret -}}
{{- dict "name" $values.existingSecret "key" $values.urlKey | toJson -}}
{{- else if $values.url -}}
{{- dict "name" (include "gwk.connectionsName" .root) "key" (printf "%s-url" .of) | toJson -}}
{{- else -}}
{{- dict "name" (include "gwk.demoSecretName" .root) "key" (printf "%s-url" .of) | toJson -}}
{{- end -}}
{{- end -}}

{{- /* Secret and key of the connection URL of the migrations Job. */ -}}
{{- define "gwk.migrationsSecret" -}}
{{- $values := .Values.postgres -}}
{{- if $values.migrationsExistingSecret -}}
{{- dict "name" $values.migrationsExistingSecret "key" $values.migrationsUrlKey | toJson -}}
{{- else if $values.migrationsUrl -}}
{{- dict "name" (include "gwk.connectionsName" .) "key" "migrations-url" | toJson -}}
{{- else -}}
{{- include "gwk.urlSecret" (dict "root" . "of" "postgres") -}}
{{- end -}}
{{- end -}}

{{- define "gwk.internalName" -}}
{{ include "gwk.fullname" . }}-internal
{{- end -}}

{{- define "gwk.internalUrl" -}}
{{ .Values.internal.tls.enabled | ternary "https" "http" }}://{{ include "gwk.internalName" . }}.{{ include "gwk.namespace" . }}.svc:8081
{{- end -}}

{{- define "gwk.internalNames" -}}
{{- $name := include "gwk.internalName" . -}}
{{- $ns := (include "gwk.namespace" .) -}}
{{ printf "%s.%s.svc,%s.%s.svc.cluster.local,%s.%s,%s" $name $ns $name $ns $name $ns $name }}
{{- end -}}

{{- define "gwk.baseUrl" -}}
{{- if .Values.api.baseUrl -}}
{{ trimSuffix "/" .Values.api.baseUrl }}
{{- else if and .Values.ingress.enabled .Values.ingress.hosts -}}
{{ .Values.ingress.tls | empty | ternary "http" "https" }}://{{ first .Values.ingress.hosts }}
{{- else if and .Values.route.enabled .Values.route.hostnames -}}
https://{{ first .Values.route.hostnames }}
{{- else -}}
http://{{ include "gwk.fullname" . }}-api.{{ include "gwk.namespace" . }}.svc{{ if ne (int .Values.api.service.port) 80 }}:{{ .Values.api.service.port }}{{ end }}
{{- end -}}
{{- end -}}

{{- /* Not empty if the base URL is one that people can open. */ -}}
{{- define "gwk.isPublic" -}}
{{- if or .Values.api.baseUrl (and .Values.ingress.enabled .Values.ingress.hosts) (and .Values.route.enabled .Values.route.hostnames) }}yes{{ end -}}
{{- end -}}

{{- /* Without a public address, people open the console through the port-forward that NOTES.txt prints. */ -}}
{{- define "gwk.consoleUrl" -}}
{{- if .Values.console.host -}}
{{ and .Values.ingress.enabled (empty .Values.ingress.tls) | ternary "http" "https" }}://{{ .Values.console.host }}
{{- else if include "gwk.isPublic" . -}}
{{ include "gwk.baseUrl" . }}
{{- else -}}
http://127.0.0.1:8080
{{- end -}}
{{- end -}}

{{- define "gwk.mediaUrl" -}}
{{- default (include "gwk.baseUrl" .) (trimSuffix "/" .Values.media.url) -}}
{{- end -}}

{{- define "gwk.mediaClaim" -}}
{{- default (printf "%s-media" (include "gwk.fullname" .)) .Values.media.folder.existingClaim -}}
{{- end -}}

{{- /* Volume claims that alerts cover, as a list. Media in a bucket has none. */ -}}
{{- define "gwk.claims" -}}
{{- $claims := list -}}
{{- if not .Values.media.s3.bucket -}}{{- $claims = append $claims (include "gwk.mediaClaim" .) -}}{{- end -}}
{{- if and .Values.demo.enabled .Values.demo.persistence.enabled -}}
{{- range $of := list "postgres" "redis" -}}
{{- $claims = append $claims (printf "data-%s-demo-%s-0" (include "gwk.fullname" $) $of) -}}
{{- end -}}
{{- end -}}
{{- toJson $claims -}}
{{- end -}}

{{- /* Namespaces that the operator serves, as a list. Empty: all. */ -}}
{{- define "gwk.namespaces" -}}
{{- $given := .Values.operator.namespaces -}}
{{- if has "*" $given -}}
[]
{{- else -}}
{{- default (list (include "gwk.namespace" .)) $given | uniq | toJson -}}
{{- end -}}
{{- end -}}

{{- define "gwk.makesSecrets" -}}
{{- if not .Values.secrets.existingSecret }}gateway {{ end -}}
{{- if and .Values.internal.tls.enabled (not .Values.internal.tls.existingSecret) (not .Values.internal.tls.certManager.enabled) }}tls {{ end -}}
{{- if .Values.demo.enabled }}demo{{ end -}}
{{- end -}}

{{- /* Fails if a claim would change in a way that Kubernetes forbids. `exact`: a StatefulSet has it, so it cannot grow. */ -}}
{{- define "gwk.checkClaim" -}}
{{- $size := .spec.resources.requests.storage -}}
{{- $bytes := include "gwk.bytes" $size | float64 -}}
{{- $wanted := include "gwk.bytes" .size | float64 -}}
{{- $grows := and (gt $wanted $bytes) (not .exact) -}}
{{- if $grows -}}{{- $grows = (lookup "storage.k8s.io/v1" "StorageClass" "" (default "" .spec.storageClassName)).allowVolumeExpansion -}}{{- end -}}
{{- if or (lt $wanted $bytes) (and (gt $wanted $bytes) (not $grows)) -}}
{{- fail (printf "The claim %s has %s, and Kubernetes cannot change it to %s. Keep %s.size=%s." .claim $size .size .at $size) -}}
{{- end -}}
{{- $class := default "" .spec.storageClassName -}}
{{- $given := .class | eq "-" | ternary "" .class -}}
{{- if and .class (ne $given $class) -}}
{{- fail (printf "The claim %s has the storage class %q, and Kubernetes cannot change it to %q. Keep %s.storageClassName." .claim $class $given .at) -}}
{{- end -}}
{{- end -}}

{{- /* Bytes of a quantity such as 10Gi. */ -}}
{{- define "gwk.bytes" -}}
{{- $number := regexFind "^[0-9.]+" (toString .) -}}
{{- $units := dict "" 1 "k" 1e3 "M" 1e6 "G" 1e9 "T" 1e12 "P" 1e15 "Ki" 1024 "Mi" 1048576 "Gi" 1073741824 "Ti" 1099511627776 "Pi" 1125899906842624 -}}
{{- mulf (float64 $number) (get $units (trimPrefix $number (toString .)) | default 1 | float64) -}}
{{- end -}}
