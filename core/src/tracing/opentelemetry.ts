import { resultWithin } from '../async/timeout.js';
import {
  diag,
  DiagLogLevel,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  TraceFlags,
  type Context,
  type Span as OpenTelemetrySpan,
} from '@opentelemetry/api';
import { parseKeyPairsIntoRecord, parseTraceParent } from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
  type Sampler,
  type SpanExporter,
} from '@opentelemetry/sdk-trace';
import type { TracingConfig } from '../config/tracing.js';
import type { Logger } from '../process/log.js';
import type { Attributes, Span, SpanOptions, Tracer } from './span.js';

/** The only file that imports OpenTelemetry. It is loaded only when tracing is configured. */
const KINDS = {
  internal: SpanKind.INTERNAL,
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  producer: SpanKind.PRODUCER,
  consumer: SpanKind.CONSUMER,
};
const EXPORT_TIMEOUT_MS = 5_000;
const CLOSE_TIMEOUT_MS = 3_000;
const WARNING_INTERVAL_MS = 60_000;

export function openTracer(
  config: TracingConfig,
  service: string,
  log: Logger,
  exporter: SpanExporter = createExporter(config),
): Tracer {
  warnOnExportErrors(log);
  const provider = new TracerProvider({
    resource: resourceFromAttributes({
      'service.namespace': 'gwk',
      ...parseKeyPairsIntoRecord(config.traceResource),
      'service.name': config.traceService ?? service,
    }),
    sampler: createSampler(config),
    spanProcessors: [new BatchSpanProcessor({ exporter, scheduledDelayMillis: config.traceDelayMs })],
  });
  const tracer = provider.getTracer('gwk');
  return {
    start(name, parent, { kind = 'internal', since, attributes = {} }: SpanOptions): Span {
      const options = { kind: KINDS[kind], attributes, ...(since !== undefined && { startTime: since }) };
      return wrapSpan(tracer.startSpan(name, options, parseParent(parent)));
    },
    /** Waits at most 3 s, so that an unreachable collector does not delay the exit. */
    close: () => resultWithin(provider.shutdown(), CLOSE_TIMEOUT_MS, undefined),
  };
}

function createExporter({ otlpTracesEndpoint, otlpEndpoint, otlpHeaders }: TracingConfig): SpanExporter {
  return new OTLPTraceExporter({
    url: otlpTracesEndpoint ?? `${otlpEndpoint!.replace(/\/$/, '')}/v1/traces`,
    headers: parseKeyPairsIntoRecord(otlpHeaders),
    timeoutMillis: EXPORT_TIMEOUT_MS,
  });
}

function wrapSpan(span: OpenTelemetrySpan): Span {
  const { traceId, spanId, traceFlags } = span.spanContext();
  const sampled = (traceFlags & TraceFlags.SAMPLED) !== 0;
  return {
    traceparent: sampled ? `00-${traceId}-${spanId}-01` : null,
    set: (attributes: Attributes) => void span.setAttributes(attributes),
    note: (event: string, attributes?: Attributes) => void span.addEvent(event, attributes),
    end(fault) {
      if (fault) span.setStatus({ code: SpanStatusCode.ERROR, message: fault });
      span.end();
    },
  };
}

/** A malformed header starts a new trace, as the standard requires. */
function parseParent(traceparent: string | null): Context {
  const parent = parseTraceParent(traceparent ?? '');
  return parent ? trace.setSpanContext(ROOT_CONTEXT, { ...parent, isRemote: true }) : ROOT_CONTEXT;
}

function createSampler({ traceSampler, traceSamplerArg }: TracingConfig): Sampler {
  const name = traceSampler.replace('parentbased_', '');
  const root =
    name === 'traceidratio'
      ? new TraceIdRatioBasedSampler(Number(traceSamplerArg))
      : name === 'always_off'
        ? new AlwaysOffSampler()
        : new AlwaysOnSampler();
  return name === traceSampler ? root : new ParentBasedSampler({ root });
}

/** Warns once a minute that export fails. It omits the collector's response, which may quote the data sent. */
function warnOnExportErrors(log: Logger): void {
  let warnedAt = -Infinity;
  const warn = (): void => {
    if (performance.now() - warnedAt < WARNING_INTERVAL_MS) return;
    warnedAt = performance.now();
    log.warn('traces are lost: the collector does not take them');
  };
  const ignore = (): void => undefined;
  const logger = { error: warn, warn, info: ignore, debug: ignore, verbose: ignore };
  diag.setLogger(logger, { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true });
}
