
{{- define "gwk.secretsPod" -}}
{{- $made := include "gwk.makesSecrets" . | trim | splitList " " }}
{{- $full := include "gwk.fullname" . }}
metadata:
  {{- include "gwk.jobMetadata" (dict "root" . "component" "secrets") | nindent 2 }}
spec:
  # Never keeps the pods of failed attempts, and so their logs. OnFailure deletes the last pod when the Job fails.
  restartPolicy: Never
  {{- include "gwk.pod" (dict "root" . "component" "secrets" "values" .Values.jobs "token" true) | nindent 2 }}
  containers:
    - name: secrets
      image: {{ include "gwk.image" (dict "root" . "component" "operator") }}
      imagePullPolicy: {{ .Values.image.pullPolicy }}
      # `kubectl describe pod` then shows the error.
      terminationMessagePolicy: FallbackToLogsOnError
      args:
        - secrets
        - make
        {{- if has "gateway" $made }}
        - --gateway={{ include "gwk.secretsName" . }}
        {{- end }}
        {{- if has "tls" $made }}
        - --internal-tls={{ include "gwk.tlsSecretName" . }}
        - --internal-names={{ include "gwk.internalNames" . }}
        {{- end }}
        {{- if has "demo" $made }}
        - --demo={{ include "gwk.demoSecretName" . }}
        - --demo-postgres-host={{ $full }}-demo-postgres
        - --demo-redis-host={{ $full }}-demo-redis
        {{- end }}
      resources:
        {{- toYaml .Values.jobs.resources | nindent 8 }}
      securityContext:
        {{- include "gwk.containerSecurity" (dict "root" . "values" .Values.jobs) | nindent 8 }}
      volumeMounts:
        - { name: tmp, mountPath: /tmp }
  volumes:
    - name: tmp
      emptyDir: { sizeLimit: 64Mi }
{{- end }}

{{- define "gwk.migrationsPod" -}}
{{- $v := .Values.migrations }}
{{- $c := dict "root" . "component" "migrations" "values" .Values.jobs }}
metadata:
  {{- include "gwk.jobMetadata" $c | nindent 2 }}
spec:
  # Never keeps the pods of failed attempts, and so their logs. OnFailure deletes the last pod when the Job fails.
  restartPolicy: Never
  {{- include "gwk.pod" $c | nindent 2 }}
  containers:
    - name: migrate
      image: {{ include "gwk.image" (dict "root" . "component" "api") }}
      imagePullPolicy: {{ .Values.image.pullPolicy }}
      args: [migrate, --timeout, {{ $v.timeoutSeconds | quote }}]
      terminationMessagePolicy: FallbackToLogsOnError
      env:
        {{- include "gwk.env" (include "gwk.databaseSettings" . | fromJson) | nindent 8 }}
      resources:
        {{- toYaml $v.resources | nindent 8 }}
      securityContext:
        {{- include "gwk.containerSecurity" $c | nindent 8 }}
      volumeMounts:
        - { name: secrets, mountPath: /var/run/gwk/secrets, readOnly: true }
        - { name: tmp, mountPath: /tmp }
  volumes:
    {{- include "gwk.secretsVolume" (dict "root" . "with" (list "migrations")) | nindent 4 }}
    - name: tmp
      emptyDir: { sizeLimit: 64Mi }
{{- end }}
