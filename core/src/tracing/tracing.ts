import type { TracingConfig } from '../config/tracing.js';
import type { Logger } from '../log.js';

/**
 * Traces of messages (docs/tracing.md): from POST /v1/messages to the webhooks of what became of it. Off unless an
 * address is set, and then this file is all that there is of it: nothing of OpenTelemetry is loaded, and every call
 * below does nothing.
 *
 * Spans carry ids, codes and counts. Never content, a phone number, an address of a customer or a secret.
 */
export type Attributes = Record<string, string | number | boolean>;

export interface Span {
  /** What those who go on with it are given (W3C trace context); null: nobody keeps this trace. */
  readonly traceparent: string | null;
  set(attributes: Attributes): void;
  /** Something that happened meanwhile. */
  note(what: string, attributes?: Attributes): void;
  /** @param fault why it failed, as a code */
  end(fault?: string | null): void;
}

export interface SpanOptions {
  kind?: 'internal' | 'server' | 'client' | 'producer' | 'consumer';
  /** When it began, in milliseconds since 1970; now when it is not given. */
  since?: number;
  attributes?: Attributes;
}

export interface Tracer {
  start(name: string, parent: string | null, options: SpanOptions): Span;
  /** Sends what it still has. */
  close(): Promise<void>;
}

const NOTHING: Span = { traceparent: null, set: () => {}, note: () => {}, end: () => {} };

let tracer: Tracer | null = null;

export const tracing = {
  get on(): boolean {
    return tracer !== null;
  },

  /** Begins a trace, or goes on with that of a caller. */
  root(name: string, parent: string | undefined, options: SpanOptions = {}): Span {
    return tracer ? tracer.start(name, parent ?? null, options) : NOTHING;
  },

  /** Goes on with a trace, where there is one. */
  child(name: string, parent: string | null | undefined, options: SpanOptions = {}): Span {
    return tracer && parent ? tracer.start(name, parent, options) : NOTHING;
  },

  /** Once for a process, before anything is served. */
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
