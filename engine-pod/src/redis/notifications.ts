import { tracing, type Span } from '@gwk/core/tracing/tracing';
import { GroupReader } from './group-reader.js';
import type { ReconnectingLink } from './reconnecting-link.js';
import type { StreamEntry } from './streams.js';

export interface NotificationReaderOptions {
  stream: string;
  epoch: number;
  /** Blocks on it: its own. */
  link: ReconnectingLink;
  /** Rings; resolves when a claim made after that is answered, or none can be made now. */
  notify: () => Promise<void>;
  /** Keeps an entry until its message is settled; false when there is nothing to keep it for. */
  keep: (messageId: string, entry: string) => boolean;
  acknowledge: (entries: string[]) => void;
  /** A bell that was rung at this time, by the clock of Redis. */
  received: (rungAt: number) => void;
  /** What the claim that it leads to goes on from; for the few bells that carry a trace. */
  traced: (traceparent: string | null) => void;
}

const BATCH = 32;

/** From the moment that the bell is heard until the claim is answered. */
function startSpans(entries: readonly StreamEntry[]): Span[] {
  const traceparents = entries.flatMap(({ fields }) => fields['t']?.split(',') ?? []);
  return traceparents.map((traceparent) => tracing.child('heard', traceparent, { kind: 'consumer' }));
}

/**
 * Reads the stream of waiting messages. The rows are the queue, so an entry has done its work once a claim has been
 * made: it is put away then, or with the outcome of its message where that was claimed. One small batch after the
 * other, so a long stream costs no memory.
 */
export function createNotificationReader(options: NotificationReaderOptions): GroupReader {
  const { stream, epoch, link, notify, keep, acknowledge } = options;
  const take = async (entries: StreamEntry[]): Promise<void> => {
    // The id of an entry begins with its time.
    for (const { id } of entries) options.received(Number.parseInt(id, 10));
    const spans = tracing.on ? startSpans(entries) : [];
    if (spans.length > 0) options.traced(spans[0]!.traceparent);
    await notify();
    for (const span of spans) span.end();
    const done = entries.filter(({ id, fields }) => !keep(fields['m'] ?? '', id));
    if (done.length > 0) acknowledge(done.map(({ id }) => id));
  };
  // Where Redis was lost, what it should have rung for waits: claims are made whenever the stream is opened.
  return new GroupReader({ stream, epoch, link, batch: BATCH, opened: notify, take });
}
