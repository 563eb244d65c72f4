{{- define "gwk.pdb" -}}
{{- if and .values.podDisruptionBudget.enabled .many }}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  {{- include "gwk.metadata" . | nindent 2 }}
spec:
  maxUnavailable: {{ .values.podDisruptionBudget.maxUnavailable }}
  unhealthyPodEvictionPolicy: AlwaysAllow
  selector:
    matchLabels:
      {{- include "gwk.selector" . | nindent 6 }}
{{- end }}
{{- end -}}
