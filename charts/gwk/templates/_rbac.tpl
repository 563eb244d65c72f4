
{{- define "gwk.operatorRules" }}
  # patch sets the finalizer. delete removes Instances that were deleted through the gwk API.
  - apiGroups: [gwk.dev]
    resources: [instances]
    verbs: [list, watch, patch, delete]
  - apiGroups: [gwk.dev]
    resources: [instances/status]
    verbs: [patch]
  - apiGroups: ['']
    resources: [pods]
    verbs: [get, list, watch, create, delete]
  # The operator writes engine tokens and never reads them. It has no right to patch or update Secrets: an answer to
  # these contains the whole Secret, and for some invalid patches also if an admission policy would deny them.
  - apiGroups: ['']
    resources: [secrets]
    verbs: [create, delete]
  - apiGroups: ['']
    resources: [events]
    verbs: [create, patch]
{{- end }}

{{- define "gwk.apiRules" }}
  # Server-side apply creates with patch. The API has no other rights in the cluster.
  - apiGroups: [gwk.dev]
    resources: [instances]
    verbs: [get, create, patch, delete]
{{- end }}

{{- /* Conditions for a container c of an engine's pod with the spec s. A profile that relaxes a field removes its check. */ -}}
{{- define "gwk.engineSecurityChecks" -}}
{{- $both := "c.?securityContext.?%[1]s.orValue(s.?securityContext.?%[1]s.orValue(%[2]s)) != %[3]s" }}
{{- $checks := dict
  "privileged" "!c.?securityContext.?privileged.orValue(false)"
  "allowPrivilegeEscalation" "!c.?securityContext.?allowPrivilegeEscalation.orValue(true)"
  "capabilities" "c.?securityContext.?capabilities.?add.orValue([]).size() == 0 && 'ALL' in c.?securityContext.?capabilities.?drop.orValue([])"
  "procMount" "c.?securityContext.?procMount.orValue('Default') == 'Default'"
  "runAsNonRoot" (printf $both "runAsNonRoot" "false" "false")
  "runAsUser" (printf $both "runAsUser" "1" "0")
  "seccompProfile" (printf $both "seccompProfile.?type" "'Unconfined'" "'Unconfined'")
  "appArmorProfile" (printf $both "appArmorProfile.?type" "''" "'Unconfined'")
  "seLinuxOptions" (printf $both "seLinuxOptions.?type" "''" "'spc_t'")
}}
{{- $safe := dict "privileged" "false" "allowPrivilegeEscalation" "false" "runAsNonRoot" "true" "procMount" "Default" }}
{{- range $profile := include "gwk.profiles" . | fromYaml }}
{{- range $context := list $profile.podSecurityContext $profile.containerSecurityContext }}
{{- range $field, $value := default (dict) $context }}
{{- $kept := eq (toString $value) (default "" (get $safe $field)) }}
{{- if eq $field "runAsUser" }}{{ $kept = ne (toString $value) "0" }}{{ end }}
{{- if not $kept }}{{ $_ := unset $checks $field }}{{ end }}
{{- end }}
{{- end }}
{{- end }}
{{- values $checks | sortAlpha | toJson }}
{{- end }}
