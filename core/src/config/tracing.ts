import { secretSetting, setting, types, type ConfigOf } from './load.js';

/** The standard variables of OpenTelemetry that the API, workers and engines support. */
export const tracingSettings = {
  otlpEndpoint: setting(
    'OTEL_EXPORTER_OTLP_ENDPOINT',
    types.url('http', 'https').optional(),
    'Base address of an OpenTelemetry collector (OTLP over HTTP); traces go to its path `/v1/traces`. Without an address tracing is off.',
  ),
  otlpTracesEndpoint: setting(
    'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT',
    types.url('http', 'https').optional(),
    'Full address for traces, used as it is instead of OTEL_EXPORTER_OTLP_ENDPOINT.',
  ),
  otlpProtocol: setting(
    'OTEL_EXPORTER_OTLP_PROTOCOL',
    types.oneOf('http/protobuf').default('http/protobuf'),
    'Protocol of the collector. Only `http/protobuf` is supported.',
  ),
  otlpHeaders: secretSetting(
    'OTEL_EXPORTER_OTLP_HEADERS',
    types.matching(/^[^=,]+=[^,]*(,[^=,]+=[^,]*)*$/, 'pairs like name=value, separated by commas').optional(),
    'Headers for the collector, for example credentials: `name=value`, separated by commas, values percent-encoded.',
  ),
  traceSampler: setting(
    'OTEL_TRACES_SAMPLER',
    types
      .oneOf(
        'always_on',
        'always_off',
        'traceidratio',
        'parentbased_always_on',
        'parentbased_always_off',
        'parentbased_traceidratio',
      )
      .default('parentbased_always_on'),
    'Sampler that decides which traces to keep. The `parentbased_` samplers follow the `traceparent` of the caller if there is one.',
  ),
  traceSamplerArg: setting(
    'OTEL_TRACES_SAMPLER_ARG',
    types.matching(/^(0(\.\d+)?|1(\.0+)?)$/, 'a number from 0 to 1').default('1'),
    'Share of the traces to keep, for the `traceidratio` samplers.',
  ),
  traceResource: setting(
    'OTEL_RESOURCE_ATTRIBUTES',
    types.matching(/^[^=,]+=[^,]*(,[^=,]+=[^,]*)*$/, 'pairs like name=value, separated by commas').optional(),
    'Resource attributes of all traces: `name=value`, separated by commas, values percent-encoded.',
  ),
  traceService: setting(
    'OTEL_SERVICE_NAME',
    types.text(1, 100).optional(),
    'Name of this program in traces. Default: `gwk-api`, `gwk-worker` or `gwk-engine`.',
  ),
  traceDelayMs: setting(
    'OTEL_BSP_SCHEDULE_DELAY',
    types.integer(1, 60_000).default(5_000),
    'How long the program collects spans before it exports them (milliseconds).',
  ),
};

export type TracingConfig = ConfigOf<typeof tracingSettings>;
