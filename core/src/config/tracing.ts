import { secretSetting, setting, types, type ConfigOf } from './load.js';

/** Of every program that messages pass: the standard variables of OpenTelemetry, as far as they are obeyed. */
export const tracingSettings = {
  otlpEndpoint: setting(
    'OTEL_EXPORTER_OTLP_ENDPOINT',
    types.url('http', 'https').optional(),
    'Address of an OpenTelemetry collector (OTLP over HTTP): traces go to `/v1/traces` below it. Without it there are none.',
  ),
  otlpTracesEndpoint: setting(
    'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT',
    types.url('http', 'https').optional(),
    'The same for traces alone, taken as it is.',
  ),
  otlpProtocol: setting(
    'OTEL_EXPORTER_OTLP_PROTOCOL',
    types.oneOf('http/protobuf').default('http/protobuf'),
    'How the collector is spoken to. There is one way.',
  ),
  otlpHeaders: secretSetting(
    'OTEL_EXPORTER_OTLP_HEADERS',
    types.matching(/^[^=,]+=[^,]*(,[^=,]+=[^,]*)*$/, 'pairs like name=value, separated by commas').optional(),
    'Headers for the collector (`name=value`, separated by commas, values percent-encoded): its credentials.',
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
    'Which traces are kept. Those that begin with `parentbased_` go by the `traceparent` of the caller where there is one.',
  ),
  traceSamplerArg: setting(
    'OTEL_TRACES_SAMPLER_ARG',
    types.matching(/^(0(\.\d+)?|1(\.0+)?)$/, 'a number from 0 to 1').default('1'),
    'The part of the traces that is kept, for the samplers that go by a ratio.',
  ),
  traceResource: setting(
    'OTEL_RESOURCE_ATTRIBUTES',
    types.matching(/^[^=,]+=[^,]*(,[^=,]+=[^,]*)*$/, 'pairs like name=value, separated by commas').optional(),
    'What traces say of where they come from (`name=value`, separated by commas, values percent-encoded).',
  ),
  traceService: setting(
    'OTEL_SERVICE_NAME',
    types.text(1, 100).optional(),
    'Name of this program in traces; `gwk-api`, `gwk-worker`, `gwk-engine` when not set.',
  ),
  traceDelayMs: setting(
    'OTEL_BSP_SCHEDULE_DELAY',
    types.integer(1, 60_000).default(5_000),
    'How long spans are gathered before they are sent (milliseconds).',
  ),
};

export type TracingConfig = ConfigOf<typeof tracingSettings>;
