import { MESSAGE_METRICS } from '@gwk/core/metrics/messages';
import { Counter, Histogram, type Metric, type Registry } from 'prom-client';

/** State of a message before and after a change. */
export interface Milestones {
  createdAt: Date;
  scheduledFor: Date | null;
  sentAt: Date | null;
  deliveredAt: Date | null;
  readAt: Date | null;
  failedAt: Date | null;
  errorCode: string | null;
}

export class MessageMetrics {
  readonly #metrics = {
    accepted: new Counter({ ...MESSAGE_METRICS.accepted, registers: [] }),
    statuses: new Counter({ ...MESSAGE_METRICS.statuses, registers: [] }),
    sentSeconds: new Histogram({ ...MESSAGE_METRICS.sentSeconds, registers: [] }),
    deliveredSeconds: new Histogram({ ...MESSAGE_METRICS.deliveredSeconds, registers: [] }),
    received: new Counter({ ...MESSAGE_METRICS.received, registers: [] }),
    ignored: new Counter({ ...MESSAGE_METRICS.ignored, registers: [] }),
  };

  register(registry: Registry): void {
    for (const metric of Object.values<Metric>(this.#metrics)) registry.registerMetric(metric);
  }

  accepted(type: string): void {
    this.#metrics.accepted.inc({ type });
  }

  received(type: string): void {
    this.#metrics.received.inc({ type });
  }

  ignored(reason: string): void {
    this.#metrics.ignored.inc({ reason });
  }

  /** One receipt may advance several statuses. */
  advanced(before: Milestones, after: Milestones): void {
    const { sentAt, deliveredAt } = after;
    const reached = (at: 'sentAt' | 'deliveredAt' | 'readAt' | 'failedAt'): boolean =>
      before[at] === null && after[at] !== null;
    if (reached('sentAt')) {
      this.#metrics.statuses.inc({ status: 'sent', code: '' });
      this.#metrics.sentSeconds.observe(secondsBetween(after.scheduledFor ?? after.createdAt, sentAt!));
    }
    if (reached('deliveredAt')) {
      this.#metrics.statuses.inc({ status: 'delivered', code: '' });
      if (sentAt) this.#metrics.deliveredSeconds.observe(secondsBetween(sentAt, deliveredAt!));
    }
    if (reached('readAt')) this.#metrics.statuses.inc({ status: 'read', code: '' });
    if (reached('failedAt'))
      this.#metrics.statuses.inc({ status: 'failed', code: after.errorCode ?? 'internal' });
  }
}

/**
 * Message metrics of the process, counted by requests, reports of engines and jobs alike. A change counts even if its
 * transaction is rolled back.
 */
export const messageMetrics = new MessageMetrics();

/** At least 0, because the times come from the clocks of two machines. */
function secondsBetween(from: Date, to: Date): number {
  return Math.max(0, (to.getTime() - from.getTime()) / 1000);
}
