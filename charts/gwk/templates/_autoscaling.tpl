{{- /* Autoscaler of a Deployment. Takes (dict "root" $ "component" "api" "name" ... "values" .Values.api.autoscaling
       "metrics" (list of HPA metrics) "triggers" (list of KEDA triggers)). */ -}}
{{- define "gwk.autoscaler" -}}
{{- $v := .values }}
---
{{- if eq $v.kind "keda" }}
apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata:
  {{- include "gwk.metadata" . | nindent 2 }}
spec:
  scaleTargetRef: { apiVersion: apps/v1, kind: Deployment, name: {{ .name | quote }} }
  minReplicaCount: {{ $v.minReplicas }}
  maxReplicaCount: {{ $v.maxReplicas }}
  {{- with $v.behavior }}
  advanced:
    horizontalPodAutoscalerConfig:
      behavior:
        {{- toYaml . | nindent 8 }}
  {{- end }}
  triggers:
    {{- toYaml .triggers | nindent 4 }}
{{- else }}
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata:
  # KEDA then accepts its ScaledObject while this still exists: Helm creates new objects before it deletes old ones.
  {{- include "gwk.metadata" (merge (dict "annotations" (dict "validations.keda.sh/hpa-ownership" "false")) .) | nindent 2 }}
spec:
  scaleTargetRef: { apiVersion: apps/v1, kind: Deployment, name: {{ .name | quote }} }
  minReplicas: {{ $v.minReplicas }}
  maxReplicas: {{ $v.maxReplicas }}
  metrics:
    {{- toYaml .metrics | nindent 4 }}
  {{- with $v.behavior }}
  behavior:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}
{{- end }}

{{- /* KEDA trigger that queries Prometheus. Takes (dict "root" $ "type" "Value" "query" ... "threshold" 10). */ -}}
{{- define "gwk.prometheusTrigger" -}}
{{- $v := .root.Values -}}
{{- $trigger := dict "type" "prometheus" "metricType" .type "metadata" (dict "serverAddress" (include "gwk.scalingPrometheus" .root) "query" .query "threshold" (toString .threshold)) -}}
{{- with $v.autoscaling.triggerAuthentication -}}{{- $_ := set $trigger "authenticationRef" (dict "name" .) -}}{{- end -}}
{{- toJson $trigger -}}
{{- end }}

{{- define "gwk.scalingPrometheus" -}}
{{- default .Values.monitoring.prometheus.url .Values.autoscaling.prometheusUrl -}}
{{- end }}

{{- /* HPA metric of the age of a queue. All workers report the same age. Takes (dict "root" $ "name" ... "labels" (dict ...) "target" 10). */ -}}
{{- define "gwk.ageMetric" -}}
{{- $labels := merge (dict "namespace" (include "gwk.namespace" .root)) .labels -}}
{{- dict "type" "External" "external" (dict "metric" (dict "name" .name "selector" (dict "matchLabels" $labels)) "target" (dict "type" "Value" "value" (toString .target))) | toJson -}}
{{- end }}

{{- define "gwk.apiAutoscaler" -}}
{{- $v := .values -}}
{{- $metrics := list (dict "type" "Resource" "resource" (dict "name" "cpu" "target" (dict "type" "Utilization" "averageUtilization" (int $v.targetCPUUtilizationPercentage)))) -}}
{{- $triggers := list (dict "type" "cpu" "metricType" "Utilization" "metadata" (dict "value" (toString $v.targetCPUUtilizationPercentage))) -}}
{{- with $v.targetRequestsPerSecond -}}
{{- $metrics = append $metrics (dict "type" "Pods" "pods" (dict "metric" (dict "name" "gwk_http_requests_per_second") "target" (dict "type" "AverageValue" "averageValue" (toString .)))) -}}
{{- $query := printf "sum(rate(gwk_http_request_duration_seconds_count{namespace=%q}[2m]))" (include "gwk.namespace" $.root) -}}
{{- $triggers = append $triggers (include "gwk.prometheusTrigger" (dict "root" $.root "type" "AverageValue" "query" $query "threshold" .) | fromJson) -}}
{{- end -}}
{{- include "gwk.autoscaler" (merge (dict "metrics" $metrics "triggers" $triggers) .) }}
{{- end }}

{{- define "gwk.workerAutoscaler" -}}
{{- $metrics := list -}}
{{- $triggers := list -}}
{{- $webhooks := dict "name" "gwk_webhook_queue_age_seconds" "labels" (dict "endpoint_state" "healthy") "target" .values.targetWebhookAgeSeconds -}}
{{- $files := dict "name" "gwk_preparation_age_seconds" "labels" dict "target" .values.targetPreparationAgeSeconds -}}
{{- range $queue := list $webhooks $files -}}
{{- if $queue.target -}}
{{- $metrics = append $metrics (include "gwk.ageMetric" (merge (dict "root" $.root) $queue) | fromJson) -}}
{{- $labels := printf "namespace=%q" (include "gwk.namespace" $.root) -}}
{{- range $label, $value := $queue.labels -}}{{- $labels = printf "%s,%s=%q" $labels $label $value -}}{{- end -}}
{{- $query := printf "max(%s{%s})" $queue.name $labels -}}
{{- $triggers = append $triggers (include "gwk.prometheusTrigger" (dict "root" $.root "type" "Value" "query" $query "threshold" $queue.target) | fromJson) -}}
{{- end -}}
{{- end -}}
{{- include "gwk.autoscaler" (merge (dict "metrics" $metrics "triggers" $triggers) .) }}
{{- end }}
