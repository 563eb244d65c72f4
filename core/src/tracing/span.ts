/** Spans carry ids, codes and counts. They never carry content, phone numbers, customers' addresses or secrets. */
export type Attributes = Record<string, string | number | boolean>;

export interface Span {
  /** W3C trace context to hand to the next span; null when nobody keeps this trace. */
  readonly traceparent: string | null;
  set(attributes: Attributes): void;
  /** Records an event of the span. */
  note(event: string, attributes?: Attributes): void;
  /** @param fault code of the failure */
  end(fault?: string | null): void;
}

export interface SpanOptions {
  kind?: 'internal' | 'server' | 'client' | 'producer' | 'consumer';
  /** Start in milliseconds since 1970; now by default. */
  since?: number;
  attributes?: Attributes;
}

export interface Tracer {
  start(name: string, parent: string | null, options: SpanOptions): Span;
  /** Exports the spans that are still in memory. */
  close(): Promise<void>;
}
