import type { TracingConfig } from '../config/tracing.js';
import type { Logger } from '../process/log.js';
import type { Span, SpanOptions, Tracer } from './span.js';

export type { Attributes, Span } from './span.js';

/**
 * Traces of messages, from POST /v1/messages to the webhooks that report their result (docs/tracing.md). Tracing is off
 * unless a collector is configured. Then every call below does nothing, and OpenTelemetry is not loaded.
 */
const NO_SPAN: Span = { traceparent: null, set: () => {}, note: () => {}, end: () => {} };

let tracer: Tracer | null = null;

export const tracing = {
  get on(): boolean {
    return tracer !== null;
  },

  /** Starts a trace, or continues the caller's. */
  root(name: string, parent: string | undefined, options: SpanOptions = {}): Span {
    return tracer ? tracer.start(name, parent ?? null, options) : NO_SPAN;
  },

  /** Continues a trace, if there is one. */
  child(name: string, parent: string | null | undefined, options: SpanOptions = {}): Span {
    return tracer && parent ? tracer.start(name, parent, options) : NO_SPAN;
  },

  /** Call once per process, before it serves requests. */
  async start(config: TracingConfig, service: string, log: Logger): Promise<void> {
    if (config.otlpEndpoint === undefined && config.otlpTracesEndpoint === undefined) return;
    const { openTracer } = await import('./opentelemetry.js');
    tracer = openTracer(config, service, log);
  },

  async stop(): Promise<void> {
    const open = tracer;
    tracer = null;
    await open?.close();
  },
};
