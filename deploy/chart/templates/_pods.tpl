{{/* What the pods of all components have in common. */}}

{{- define "headgate.labels" -}}
app.kubernetes.io/name: headgate
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "headgate.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- define "headgate.settings" -}}
{{- $usual := dict -}}
{{- if .Values.podLogs.size }}{{- $usual = dict "HEADGATE_POD_LOGS" "/srv/headgate/pod-logs" }}{{- end -}}
{{- range $name, $value := merge (deepCopy .Values.settings) $usual }}
{{ $name }}: {{ $value | toString | quote }}
{{- end }}
{{- end }}

{{- define "headgate.pod" -}}
serviceAccountName: {{ .Release.Name }}
{{- with .Values.image.pullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "headgate.container" -}}
image: {{ include "headgate.image" . }}
{{- if ne .Values.image.pullPolicy "IfNotPresent" }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
{{- end }}
envFrom: [{configMapRef: {name: {{ .Release.Name }}}}]
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
{{- end }}

{{- define "headgate.servers" -}}
- name: HEADGATE_DATABASE_URL
  valueFrom: {secretKeyRef: {name: {{ .Values.secret }}, key: database-url}}
- name: HEADGATE_BROKER_URL
  valueFrom: {secretKeyRef: {name: {{ .Values.secret }}, key: broker-url}}
{{- end }}

{{- define "headgate.mounts" -}}
{{- if .Values.podLogs.size }}
- {name: pod-logs, mountPath: /srv/headgate/pod-logs}
{{- end }}
- {name: temporary, mountPath: /tmp}
{{- end }}

{{- define "headgate.volumes" -}}
{{- if .Values.podLogs.size }}
- name: pod-logs
  persistentVolumeClaim: {claimName: {{ .Release.Name }}-pod-logs}
{{- end }}
- name: temporary
  emptyDir: {}
{{- end }}
