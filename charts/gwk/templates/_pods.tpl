{{- /* Pod fields of all programs. Takes (dict "root" $ "component" "api" "values" .Values.api). */ -}}
{{- define "gwk.pod" -}}
serviceAccountName: {{ include "gwk.serviceAccountName" . | quote }}
automountServiceAccountToken: {{ default false .token }}
# Otherwise Kubernetes adds variables of Services, which look like settings.
enableServiceLinks: false
securityContext:
  {{- include "gwk.podSecurity" (merge (dict "user" 65532) .) | nindent 2 }}
{{- include "gwk.imagePullSecrets" .root }}
{{- include "gwk.names" .root }}
{{- with .values.terminationGracePeriodSeconds }}
terminationGracePeriodSeconds: {{ . }}
{{- end }}
{{- include "gwk.placement" . }}
{{- with .values.topologySpreadConstraints }}
topologySpreadConstraints:
  {{- toYaml . | nindent 2 }}
{{- else }}
{{- if hasKey .values "topologySpreadConstraints" }}
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: topology.kubernetes.io/zone
    whenUnsatisfiable: ScheduleAnyway
    # Pods of the former version do not count during an upgrade.
    matchLabelKeys: [pod-template-hash]
    labelSelector:
      matchLabels:
        {{- include "gwk.selector" . | nindent 8 }}
{{- end }}
{{- end }}
{{- end -}}

{{- /* How pods resolve names. */ -}}
{{- define "gwk.names" -}}
{{- with .Values.dnsConfig }}
dnsConfig:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.hostAliases }}
hostAliases:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- /* Fields of a Deployment. Takes (dict "root" $ "values" .Values.api). */ -}}
{{- define "gwk.rollout" -}}
revisionHistoryLimit: {{ .root.Values.revisionHistoryLimit }}
strategy:
  {{- default (dict "type" "RollingUpdate" "rollingUpdate" (dict "maxSurge" 1 "maxUnavailable" 0)) .values.strategy | toYaml | nindent 2 }}
{{- end -}}

{{- /* Fields of every Service. */ -}}
{{- define "gwk.ipFamilies" -}}
{{- with .Values.ipFamilyPolicy }}
ipFamilyPolicy: {{ . }}
{{- end }}
{{- with .Values.ipFamilies }}
ipFamilies: {{ toJson . }}
{{- end }}
{{- end -}}

{{- /* Placement of one program. Values of `placement` are the default. Takes (dict "root" $ "values" .Values.api). */ -}}
{{- define "gwk.placement" }}
{{- $all := .root.Values.placement }}
{{- with default $all.priorityClassName .values.priorityClassName }}
priorityClassName: {{ . | quote }}
{{- end }}
{{- with default $all.nodeSelector .values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with default $all.tolerations .values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- /* Labels and annotations of the pods of Jobs. */ -}}
{{- define "gwk.jobMetadata" -}}
labels:
  {{- include "gwk.selector" . | nindent 2 }}
  {{- with .root.Values.jobs.podLabels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- with .root.Values.jobs.podAnnotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- /* Replicas prefer different nodes. Demo pods run on the node of the demo database, whose volume they share. */ -}}
{{- define "gwk.affinity" -}}
{{- if .values.affinity }}
affinity:
  {{- toYaml .values.affinity | nindent 2 }}
{{- else if and .media .root.Values.demo.enabled (not .root.Values.media.s3.bucket) }}
affinity:
  podAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
      - topologyKey: kubernetes.io/hostname
        labelSelector:
          matchLabels:
            {{- include "gwk.selector" (dict "root" .root "component" "demo-postgres") | nindent 12 }}
{{- else }}
affinity:
  podAntiAffinity:
    preferredDuringSchedulingIgnoredDuringExecution:
      - weight: 100
        podAffinityTerm:
          topologyKey: kubernetes.io/hostname
          labelSelector:
            matchLabels:
              {{- include "gwk.selector" . | nindent 14 }}
{{- end }}
{{- end -}}

{{- define "gwk.probes" -}}
startupProbe:
  httpGet: { path: /livez, port: {{ .port }} }
  periodSeconds: 1
  timeoutSeconds: 3
  failureThreshold: 90
livenessProbe:
  httpGet: { path: /livez, port: {{ .port }} }
  periodSeconds: 10
  timeoutSeconds: 3
  failureThreshold: 6
readinessProbe:
  httpGet: { path: /readyz, port: {{ .port }} }
  periodSeconds: 2
  timeoutSeconds: 3
  failureThreshold: 2
{{- end -}}

{{- /* The decoder listens on a Unix socket only, which the kubelet cannot reach. The first isolation trials take seconds. */ -}}
{{- define "gwk.decoderProbes" -}}
{{- $exec := dict "command" (list "node" "-e" "require('http').get({ socketPath: process.env.GWK_DECODER_SOCKET, path: '/livez' }, (res) => process.exit(res.statusCode === 200 ? 0 : 1))") -}}
startupProbe:
  exec: {{- toYaml $exec | nindent 4 }}
  periodSeconds: 5
  timeoutSeconds: 10
  failureThreshold: 24
livenessProbe:
  exec: {{- toYaml $exec | nindent 4 }}
  periodSeconds: 30
  timeoutSeconds: 10
  failureThreshold: 4
{{- end -}}

{{- define "gwk.podLabels" -}}
{{- include "gwk.labels" (dict "root" .root "component" .component "labels" .values.podLabels) }}
{{- end -}}

{{- /* Environment variables from a dict of settings. Skips null and empty values. */ -}}
{{- define "gwk.env" -}}
{{- range $name, $value := . }}
{{- if not (or (kindIs "invalid" $value) (eq (toString $value) "")) }}
- name: {{ $name | quote }}
  value: {{ include "gwk.settingText" $value }}
{{- end }}
{{- end }}
{{- end -}}

{{- /* Text of a setting. int64 avoids exponents in numbers from one million on. Booleans become on and off. */ -}}
{{- define "gwk.settingText" -}}
{{- if kindIs "float64" . -}}{{ . | int64 | toString | quote }}
{{- else if kindIs "bool" . -}}{{ . | ternary "on" "off" | quote }}
{{- else -}}{{ . | toString | quote }}
{{- end -}}
{{- end -}}

{{- /* Settings of both API and worker. */ -}}
{{- define "gwk.commonSettings" -}}
{{- $v := .Values -}}
{{- $s := dict "GWK_LOG_LEVEL" $v.logLevel -}}
{{- $_ := set $s "REDIS_URL_FILE" "/var/run/gwk/secrets/redis-url" -}}
{{- $_ := set $s "GWK_ENCRYPTION_KEYS_FILE" "/var/run/gwk/secrets/encryption-keys" -}}
{{- $_ := set $s "GWK_REDIS_PREFIX" $v.redis.prefix -}}
{{- $_ := set $s "GWK_MEDIA_URL" (include "gwk.mediaUrl" .) -}}
{{- if include "gwk.hasCa" .Values.redis -}}{{- $_ := set $s "GWK_REDIS_CA_FILE" "/var/run/gwk/secrets/redis-ca.crt" -}}{{- end -}}
{{- $s = merge $s (include "gwk.tracingSettings" . | fromJson) (include "gwk.smtpSettings" . | fromJson) -}}
{{- include "gwk.databaseSettings" . | fromJson | merge $s | toJson -}}
{{- end -}}

{{- /* Tracing settings of API, worker and engines. Empty without a collector. */ -}}
{{- define "gwk.tracingSettings" -}}
{{- $s := dict -}}
{{- with .Values.monitoring.tracing -}}
{{- if .endpoint -}}
{{- $_ := set $s "OTEL_EXPORTER_OTLP_ENDPOINT" .endpoint -}}
{{- $_ := set $s "OTEL_TRACES_SAMPLER" .sampler -}}
{{- $_ := set $s "OTEL_TRACES_SAMPLER_ARG" .samplerArg -}}
{{- $pairs := list -}}
{{- range $name, $value := .resourceAttributes -}}{{- $pairs = append $pairs (printf "%s=%s" $name (urlquery $value | replace "+" "%20")) -}}{{- end -}}
{{- $_ := set $s "OTEL_RESOURCE_ATTRIBUTES" (join "," $pairs) -}}
{{- end -}}
{{- end -}}
{{- toJson $s -}}
{{- end -}}

{{- /* Settings of the sign-in with a provider. Empty without one. */ -}}
{{- define "gwk.oidcSettings" -}}
{{- $s := dict -}}
{{- with .Values.api.console.oidc -}}
{{- if .issuer -}}
{{- $s = dict "GWK_API_OIDC_ISSUER" .issuer "GWK_API_OIDC_CLIENT_ID" .clientId "GWK_API_OIDC_NAME" .name "GWK_API_OIDC_SCOPES" (join " " .scopes) "GWK_API_OIDC_DOMAINS" (join "," .domains) "GWK_API_OIDC_PASSWORDS" (ternary "on" "off" .passwords) -}}
{{- if .existingSecret -}}{{- $_ := set $s "GWK_API_OIDC_CLIENT_SECRET_FILE" "/var/run/gwk/secrets/oidc-client-secret" -}}{{- end -}}
{{- if .claim -}}
{{- $_ := set $s "GWK_API_OIDC_CLAIM" .claim -}}
{{- $_ := set $s "GWK_API_OIDC_ROLES" (toJson .roles) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- toJson $s -}}
{{- end -}}

{{- /* SMTP settings of API and worker. Empty without a server. */ -}}
{{- define "gwk.smtpSettings" -}}
{{- $s := dict -}}
{{- with .Values.smtp -}}
{{- if .host -}}
{{- $s = dict "GWK_SMTP_HOST" .host "GWK_SMTP_PORT" .port "GWK_SMTP_TLS" .tls.mode "GWK_SMTP_USER" .user "GWK_SMTP_FROM" .from "GWK_SMTP_SENDER_NAME" .senderName -}}
{{- if .existingSecret -}}{{- $_ := set $s "GWK_SMTP_PASSWORD_FILE" "/var/run/gwk/secrets/smtp-password" -}}{{- end -}}
{{- if include "gwk.hasCa" . -}}{{- $_ := set $s "GWK_SMTP_CA_FILE" "/var/run/gwk/secrets/smtp-ca.crt" -}}{{- end -}}
{{- end -}}
{{- end -}}
{{- toJson $s -}}
{{- end -}}

{{- /* Settings of the database connection. */ -}}
{{- define "gwk.databaseSettings" -}}
{{- $s := dict "DATABASE_URL_FILE" "/var/run/gwk/secrets/database-url" -}}
{{- if include "gwk.hasCa" .Values.postgres -}}{{- $_ := set $s "GWK_DATABASE_CA_FILE" "/var/run/gwk/secrets/database-ca.crt" -}}{{- end -}}
{{- toJson $s -}}
{{- end -}}

{{- define "gwk.hasCa" -}}
{{- if or .tls.caSecret .tls.caConfigMap }}yes{{ end -}}
{{- end -}}

{{- define "gwk.mediaSettings" -}}
{{- $s3 := .Values.media.s3 -}}
{{- $s := dict -}}
{{- if $s3.bucket -}}
{{- $s = dict "GWK_MEDIA_S3_BUCKET" $s3.bucket "GWK_MEDIA_S3_URL" $s3.url "GWK_MEDIA_S3_REGION" $s3.region "GWK_MEDIA_S3_PREFIX" $s3.prefix "GWK_MEDIA_S3_PATH_STYLE" $s3.pathStyle -}}
{{- if $s3.existingSecret -}}
{{- $_ := set $s "GWK_MEDIA_S3_ACCESS_KEY_FILE" "/var/run/gwk/secrets/s3-access-key" -}}
{{- $_ := set $s "GWK_MEDIA_S3_SECRET_KEY_FILE" "/var/run/gwk/secrets/s3-secret-key" -}}
{{- end -}}
{{- else -}}
{{- $s = dict "GWK_MEDIA_FOLDER" "/var/lib/gwk/media" -}}
{{- end -}}
{{- $_ := set $s "GWK_MEDIA_MAX_MB" .Values.media.maxSize -}}
{{- toJson $s -}}
{{- end -}}

{{- /* Volume with the secrets of one program. Takes (dict "root" $ "with" (list "database" "redis" ...)). */ -}}
{{- define "gwk.secretsVolume" -}}
{{- $v := .root.Values -}}
- name: secrets
  projected:
    defaultMode: 0440
    sources:
      {{- if or (has "database" .with) (has "migrations" .with) }}
      {{- $url := include "gwk.urlSecret" (dict "root" .root "of" "postgres") | fromJson }}
      {{- if has "migrations" .with }}{{ $url = include "gwk.migrationsSecret" .root | fromJson }}{{ end }}
      - secret: { name: {{ $url.name | quote }}, items: [{ key: {{ $url.key | quote }}, path: database-url }] }
      {{- include "gwk.caSource" (dict "tls" $v.postgres.tls "path" "database-ca.crt") | nindent 6 }}
      {{- end }}
      {{- if has "redis" .with }}
      {{- $url := include "gwk.urlSecret" (dict "root" .root "of" "redis") | fromJson }}
      - secret: { name: {{ $url.name | quote }}, items: [{ key: {{ $url.key | quote }}, path: redis-url }] }
      {{- include "gwk.caSource" (dict "tls" $v.redis.tls "path" "redis-ca.crt") | nindent 6 }}
      {{- end }}
      {{- if and (has "smtp" .with) $v.smtp.host }}
      {{- if $v.smtp.existingSecret }}
      - secret: { name: {{ $v.smtp.existingSecret | quote }}, items: [{ key: {{ $v.smtp.passwordKey | quote }}, path: smtp-password }] }
      {{- end }}
      {{- include "gwk.caSource" (dict "tls" $v.smtp.tls "path" "smtp-ca.crt") | nindent 6 }}
      {{- end }}
      {{- if has "webhooks" .with }}
      {{- include "gwk.caSource" (dict "tls" $v.webhooks.tls "path" "webhook-ca.crt") | nindent 6 }}
      {{- end }}
      {{- if and (has "portals" .with) $v.api.portals.existingSecret }}
      - secret: { name: {{ $v.api.portals.existingSecret | quote }}, items: [{ key: {{ $v.api.portals.tokenKey | quote }}, path: platform-token }] }
      {{- end }}
      {{- with $v.api.console.oidc }}
      {{- if and (has "oidc" $.with) .issuer .existingSecret }}
      - secret: { name: {{ .existingSecret | quote }}, items: [{ key: {{ .secretKey | quote }}, path: oidc-client-secret }] }
      {{- end }}
      {{- end }}
      {{- if has "encryption" .with }}
      - secret: { name: {{ include "gwk.secretsName" .root | quote }}, items: [{ key: {{ $v.secrets.encryptionKeysKey | quote }}, path: encryption-keys }] }
      {{- end }}
      {{- if has "operator" .with }}
      - secret: { name: {{ include "gwk.secretsName" .root | quote }}, items: [{ key: {{ $v.secrets.operatorTokenKey | quote }}, path: operator-token }] }
      {{- end }}
      {{- if and (has "tls" .with) $v.internal.tls.enabled }}
      - secret: { name: {{ include "gwk.tlsSecretName" .root | quote }}, items: [{ key: tls.crt, path: internal.crt }, { key: tls.key, path: internal.key }] }
      {{- end }}
      {{- if and (has "ca" .with) $v.internal.tls.enabled }}
      - secret: { name: {{ include "gwk.tlsSecretName" .root | quote }}, items: [{ key: ca.crt, path: internal-ca.crt }] }
      {{- end }}
      {{- if and (has "proxy" .with) $v.proxy.existingSecret }}
      - secret:
          name: {{ $v.proxy.existingSecret | quote }}
          items:
            - { key: {{ $v.proxy.urlKey | quote }}, path: proxy-url }
            {{- with $v.proxy.caKey }}
            - { key: {{ . | quote }}, path: proxy-ca.crt }
            {{- end }}
      {{- end }}
      {{- if and (has "s3" .with) $v.media.s3.bucket $v.media.s3.existingSecret }}
      - secret: { name: {{ $v.media.s3.existingSecret | quote }}, items: [{ key: {{ $v.media.s3.accessKeyKey | quote }}, path: s3-access-key }, { key: {{ $v.media.s3.secretKeyKey | quote }}, path: s3-secret-key }] }
      {{- end }}
{{- end -}}

{{- /* Settings of the proxy. Takes the names of the settings: (dict "root" $ "url" ... "ca" ... "noProxy" ...). */ -}}
{{- define "gwk.proxySettings" -}}
{{- $s := dict -}}
{{- with .root.Values.proxy -}}
{{- if .existingSecret -}}
{{- $_ := set $s $.url "/var/run/gwk/secrets/proxy-url" -}}
{{- if .caKey -}}{{- $_ := set $s $.ca "/var/run/gwk/secrets/proxy-ca.crt" -}}{{- end -}}
{{- $_ := set $s $.noProxy (join "," .noProxy) -}}
{{- end -}}
{{- end -}}
{{- toJson $s -}}
{{- end -}}

{{- define "gwk.caSource" -}}
{{- if .tls.caSecret -}}
- secret: { name: {{ .tls.caSecret | quote }}, items: [{ key: {{ .tls.caKey | quote }}, path: {{ .path | quote }} }] }
{{- else if .tls.caConfigMap -}}
- configMap: { name: {{ .tls.caConfigMap | quote }}, items: [{ key: {{ .tls.caKey | quote }}, path: {{ .path | quote }} }] }
{{- end -}}
{{- end -}}

{{- define "gwk.mediaVolume" -}}
{{- if not .Values.media.s3.bucket }}
- name: media
  persistentVolumeClaim: { claimName: {{ include "gwk.mediaClaim" . | quote }} }
{{- end }}
{{- end -}}

{{- define "gwk.mediaMount" -}}
{{- if not .Values.media.s3.bucket }}
- { name: media, mountPath: /var/lib/gwk/media }
{{- end }}
{{- end -}}

{{- define "gwk.checksums" -}}
{{- if include "gwk.inlineUrls" . }}
checksum/connections: {{ printf "%s %s" .Values.postgres.url .Values.redis.url | sha256sum | quote }}
{{- end }}
{{- end -}}

{{- define "gwk.inlineUrls" -}}
{{- if or (include "gwk.inlineMigrationsUrl" .) (and .Values.postgres.url (not .Values.postgres.existingSecret)) (and .Values.redis.url (not .Values.redis.existingSecret)) }}yes{{ end -}}
{{- end -}}

{{- define "gwk.inlineMigrationsUrl" -}}
{{- if and .Values.migrations.enabled .Values.postgres.migrationsUrl (not .Values.postgres.migrationsExistingSecret) }}yes{{ end -}}
{{- end -}}

{{- /* Init container of API and worker: no program starts on a database with an older schema. */ -}}
{{- define "gwk.waitForMigrations" -}}
- name: wait-for-migrations
  image: {{ include "gwk.image" . }}
  imagePullPolicy: {{ .root.Values.image.pullPolicy }}
  args: [migrate, --wait, --timeout, {{ .root.Values.migrations.timeoutSeconds | quote }}]
  terminationMessagePolicy: FallbackToLogsOnError
  env:
    {{- include "gwk.env" (include "gwk.databaseSettings" .root | fromJson) | nindent 4 }}
  securityContext:
    {{- include "gwk.containerSecurity" . | nindent 4 }}
  resources:
    {{- toYaml .root.Values.migrations.waitResources | nindent 4 }}
  volumeMounts:
    - { name: secrets, mountPath: /var/run/gwk/secrets, readOnly: true }
    - { name: tmp, mountPath: /tmp }
{{- end -}}

{{- define "gwk.profiles" -}}
{{- $image := include "gwk.image" (dict "root" . "component" "engine") -}}
{{- $base := dict "image" $image "imagePullPolicy" .Values.image.pullPolicy -}}
{{- with include "gwk.pullSecrets" . | fromJsonArray }}{{ $_ := set $base "imagePullSecrets" . }}{{ end -}}
{{- with .Values.proxy }}
{{- if .existingSecret }}
{{- $proxy := dict "secretName" .existingSecret "urlKey" .urlKey }}
{{- with .caKey }}{{ $_ := set $proxy "caKey" . }}{{ end }}
{{- with .noProxy }}{{ $_ := set $proxy "noProxy" . }}{{ end }}
{{- $_ := set $base "proxy" $proxy }}
{{- end }}
{{- end }}
{{- with .Values.dnsConfig }}{{ $_ := set $base "dnsConfig" . }}{{ end -}}
{{- with .Values.hostAliases }}{{ $_ := set $base "hostAliases" . }}{{ end -}}
{{- range $name, $profile := .Values.engine.profiles }}
{{- /* A profile replaces a setting of DNS as a whole. */ -}}
{{- $own := default (dict) $profile -}}
{{- $shared := omit $base "proxy" -}}
{{- range list "dnsConfig" "hostAliases" }}{{ if hasKey $own . }}{{ $shared = omit $shared . }}{{ end }}{{ end -}}
{{- $whole := merge (dict) (omit $own "proxy") $shared }}
{{- with hasKey (default (dict) $profile) "proxy" | ternary (default (dict) $profile).proxy $base.proxy }}{{ $_ := set $whole "proxy" . }}{{ end }}
{{- if not (include "gwk.fixesUserIds" $) }}
{{- $context := dict "runAsUser" nil "runAsGroup" nil "fsGroup" nil }}
{{- range $field, $value := $whole.podSecurityContext }}{{ $_ := set $context $field $value }}{{ end }}
{{- $_ := set $whole "podSecurityContext" $context }}
{{- end }}
{{- $env := default (list) $whole.env }}
{{- if not $.Values.monitoring.instanceLabel }}
{{- $env = append $env (dict "name" "GWK_ENGINE_METRICS_INSTANCE" "value" "off") }}
{{- end }}
{{- if ne $.Values.listenAddress "0.0.0.0" }}
{{- $env = append $env (dict "name" "GWK_ENGINE_HOST" "value" $.Values.listenAddress) }}
{{- end }}
{{- range $variable, $value := include "gwk.tracingSettings" $ | fromJson }}
{{- if $value }}
{{- $env = append $env (dict "name" $variable "value" $value) }}
{{- end }}
{{- end }}
{{- if $env }}{{ $_ := set $whole "env" $env }}{{ end }}
{{ $name }}:
  {{- toYaml $whole | nindent 2 }}
{{- end }}
{{- end -}}
