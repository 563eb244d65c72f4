{{- /* Not empty: pods name their user and group ids. */ -}}
{{- define "gwk.fixesUserIds" -}}
{{- $mode := .Values.userIds -}}
{{- if or (eq $mode "fixed") (and (eq $mode "auto") (not (.Capabilities.APIVersions.Has "security.openshift.io/v1"))) }}yes{{ end -}}
{{- end -}}

{{- /* Security context of a pod. Takes (dict "root" $ "values" .Values.api "user" 65532). */ -}}
{{- define "gwk.podSecurity" -}}
{{- $context := dict "runAsNonRoot" true "fsGroupChangePolicy" "OnRootMismatch" "seccompProfile" (dict "type" "RuntimeDefault") -}}
{{- if include "gwk.fixesUserIds" .root -}}
{{- $context = merge $context (dict "runAsUser" .user "runAsGroup" .user "fsGroup" .user) -}}
{{- end -}}
{{- include "gwk.overlay" (dict "defaults" $context "own" .values.podSecurityContext) -}}
{{- end -}}

{{- /* Security context of a container. Takes (dict "root" $ "values" .Values.api). Its own "user" is optional. */ -}}
{{- define "gwk.containerSecurity" -}}
{{- $context := dict "allowPrivilegeEscalation" false "readOnlyRootFilesystem" true "capabilities" (dict "drop" (list "ALL")) -}}
{{- if and .user (include "gwk.fixesUserIds" .root) -}}
{{- $context = merge $context (dict "runAsUser" .user "runAsGroup" .user) -}}
{{- end -}}
{{- include "gwk.overlay" (dict "defaults" $context "own" .values.containerSecurityContext) -}}
{{- end -}}

{{- /* `defaults` with the fields of `own`; null removes one. merge() would ignore false and null. */ -}}
{{- define "gwk.overlay" -}}
{{- $all := deepCopy .defaults -}}
{{- range $name, $value := .own -}}
{{- if kindIs "invalid" $value -}}{{- $_ := unset $all $name -}}{{- else -}}{{- $_ := set $all $name $value -}}{{- end -}}
{{- end -}}
{{- toYaml $all -}}
{{- end -}}
