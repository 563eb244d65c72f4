import {
  diag,
  DiagLogLevel,
  isSpanContextValid,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  TraceFlags,
  type Context,
  type Span as OpenTelemetrySpan,
} from '@opentelemetry/api';
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
import type { Logger } from '../log.js';
import type { Attributes, Span, SpanOptions, Tracer } from './tracing.js';

/** The only file that knows OpenTelemetry; loaded where traces are wanted, and nowhere else. */
const KINDS = {
  internal: SpanKind.INTERNAL,
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  producer: SpanKind.PRODUCER,
  consumer: SpanKind.CONSUMER,
};
const EXPORT_TIMEOUT_MS = 5_000;
const CLOSE_WITHIN_MS = 3_000;
const QUIET_MS = 60_000;

export function openTracer(
  config: TracingConfig,
  service: string,
  log: Logger,
  exporter: SpanExporter = exporterTo(config),
): Tracer {
  tellFaults(log);
  const provider = new TracerProvider({
    resource: resourceFromAttributes({
      'service.namespace': 'gwk',
      ...pairsOf(config.traceResource),
      'service.name': config.traceService ?? service,
    }),
    sampler: samplerOf(config),
    spanProcessors: [new BatchSpanProcessor({ exporter, scheduledDelayMillis: config.traceDelayMs })],
  });
  const tracer = provider.getTracer('gwk');
  return {
    start(name, parent, { kind = 'internal', since, attributes = {} }: SpanOptions): Span {
      const options = { kind: KINDS[kind], attributes, ...(since !== undefined && { startTime: since }) };
      return spanOf(tracer.startSpan(name, options, contextOf(parent)));
    },
    /** A collector that is away holds up no program that ends. */
    close: () =>
      Promise.race([
        provider.shutdown().catch(() => undefined),
        new Promise<void>((resolve) => setTimeout(resolve, CLOSE_WITHIN_MS).unref()),
      ]),
  };
}

function exporterTo({ otlpTracesEndpoint, otlpEndpoint, otlpHeaders }: TracingConfig): SpanExporter {
  return new OTLPTraceExporter({
    url: otlpTracesEndpoint ?? `${otlpEndpoint!.replace(/\/$/, '')}/v1/traces`,
    headers: pairsOf(otlpHeaders),
    timeoutMillis: EXPORT_TIMEOUT_MS,
  });
}

function spanOf(span: OpenTelemetrySpan): Span {
  const { traceId, spanId, traceFlags } = span.spanContext();
  const kept = (traceFlags & TraceFlags.SAMPLED) !== 0;
  return {
    traceparent: kept ? `00-${traceId}-${spanId}-01` : null,
    set: (attributes: Attributes) => void span.setAttributes(attributes),
    note: (what: string, attributes?: Attributes) => void span.addEvent(what, attributes),
    end(fault) {
      if (fault) span.setStatus({ code: SpanStatusCode.ERROR, message: fault });
      span.end();
    },
  };
}

const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;

/** What is malformed begins a trace of its own, as the standard has it; later versions begin as this one does. */
function contextOf(traceparent: string | null): Context {
  const [, version, traceId = '', spanId = '', flags = '00', more] =
    TRACEPARENT.exec(traceparent ?? '') ?? [];
  const known = version === '00' ? more === undefined : version !== 'ff';
  const context = {
    traceId,
    spanId,
    traceFlags: Number.parseInt(flags, 16) & TraceFlags.SAMPLED,
    isRemote: true,
  };
  return known && isSpanContextValid(context) ? trace.setSpanContext(ROOT_CONTEXT, context) : ROOT_CONTEXT;
}

function samplerOf({ traceSampler, traceSamplerArg }: TracingConfig): Sampler {
  const [name, parentBased] = traceSampler.startsWith('parentbased_')
    ? [traceSampler.slice('parentbased_'.length), true]
    : [traceSampler, false];
  const root =
    name === 'traceidratio'
      ? new TraceIdRatioBasedSampler(Number(traceSamplerArg))
      : name === 'always_off'
        ? new AlwaysOffSampler()
        : new AlwaysOnSampler();
  return parentBased ? new ParentBasedSampler({ root }) : root;
}

function pairsOf(text: string | undefined): Record<string, string> {
  const pairs = (text ?? '').split(',').filter((pair) => pair.includes('='));
  return Object.fromEntries(
    pairs.map((pair) => {
      const at = pair.indexOf('=');
      return [pair.slice(0, at).trim(), decoded(pair.slice(at + 1).trim())];
    }),
  );
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** A collector that is away is told of once a minute, without its answer: that may quote what was sent. */
function tellFaults(log: Logger): void {
  let toldAt = -Infinity;
  const tell = (): void => {
    if (performance.now() - toldAt < QUIET_MS) return;
    toldAt = performance.now();
    log.warn('traces are lost: the collector does not take them');
  };
  const quiet = (): void => undefined;
  const logger = { error: tell, warn: tell, info: quiet, debug: quiet, verbose: quiet };
  diag.setLogger(logger, { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true });
}
