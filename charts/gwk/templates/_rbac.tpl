
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
