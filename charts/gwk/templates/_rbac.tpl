
{{- define "gwk.operatorRules" }}
  # patch: their finalizer. delete: of what was deleted through the API of gwk.
  - apiGroups: [gwk.dev]
    resources: [instances]
    verbs: [list, watch, patch, delete]
  - apiGroups: [gwk.dev]
    resources: [instances/status]
    verbs: [patch]
  - apiGroups: ['']
    resources: [pods]
    verbs: [get, list, watch, create, delete]
  # It writes the tokens of engines, and has no need to read one. (A patch is answered with the whole Secret.)
  - apiGroups: ['']
    resources: [secrets]
    verbs: [create, patch, delete]
  - apiGroups: ['']
    resources: [events]
    verbs: [create, patch]
{{- end }}

{{- define "gwk.apiRules" }}
  # Server-side apply creates with patch. It sees Instances and nothing else of the cluster.
  - apiGroups: [gwk.dev]
    resources: [instances]
    verbs: [get, create, patch, delete]
{{- end }}
