import { tracing, type Span } from '@gwk/core/tracing/tracing';
import { readGroup, type StreamEntry } from './group-reader.js';
import type { ReconnectingLink } from './reconnecting-link.js';

export interface NotificationReaderOptions {
  stream: string;
  epoch: number;
  link: ReconnectingLink;
  /**
   * Requests a claim. Resolves when a claim that begins after this call is answered, or when none is possible now.
   */
  notify: () => Promise<void>;
  /** Keeps an entry until its message is settled; false when no such message is held. */
  keep: (messageId: string, entry: string) => boolean;
  acknowledge: (entries: string[]) => void;
  /** Reports the time of a notification, by the clock of Redis. */
  received: (notifiedAt: number) => void;
  /** Sets the parent of the next claim's span, for the few notifications that carry a trace. */
  traced: (traceparent: string | null) => void;
}

const BATCH = 32;

/** Spans from the receipt of a notification until the claim is answered. */
function startSpans(entries: readonly StreamEntry[]): Span[] {
  const traceparents = entries.flatMap(({ fields }) => fields['t']?.split(',') ?? []);
  return traceparents.map((traceparent) => tracing.child('notified', traceparent, { kind: 'consumer' }));
}

/**
 * Reads the stream of notifications about waiting messages. The rows in Postgres are the queue, so an entry is done
 * once a claim was made. It is acknowledged then, or with the outcome of its message if the claim took it. Small
 * batches are read one after the other, so a long stream costs no memory.
 */
export function readNotifications(options: NotificationReaderOptions): Promise<void> {
  const { stream, epoch, link, notify, keep, acknowledge } = options;
  const handle = async (entries: StreamEntry[]): Promise<void> => {
    // The id of a stream entry begins with its time.
    for (const { id } of entries) options.received(Number.parseInt(id, 10));
    const spans = tracing.on ? startSpans(entries) : [];
    if (spans.length > 0) options.traced(spans[0]!.traceparent);
    await notify();
    for (const span of spans) span.end();
    const done = entries.filter(({ id, fields }) => !keep(fields['m'] ?? '', id));
    if (done.length > 0) acknowledge(done.map(({ id }) => id));
  };
  // Redis may have lost notifications, so a claim is made whenever the stream is opened.
  return readGroup({ stream, epoch, link, batch: BATCH, opened: notify, handle });
}
