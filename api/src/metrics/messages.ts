import { MESSAGE_METRICS } from '@gwk/core/metrics/messages';
import { Counter, Histogram, type Metric, type Registry } from 'prom-client';

/** Of a message before and after a change. */
export interface Milestones {
  createdAt: Date;
  scheduledFor: Date | null;
  sentAt: Date | null;
  deliveredAt: Date | null;
  readAt: Date | null;
  failedAt: Date | null;
  errorCode: string | null;
}

const unregistered = { registers: [] };
const accepted = new Counter({ ...MESSAGE_METRICS.accepted, ...unregistered });
const statuses = new Counter({ ...MESSAGE_METRICS.statuses, ...unregistered });
const sentSeconds = new Histogram({ ...MESSAGE_METRICS.sentSeconds, ...unregistered });
const deliveredSeconds = new Histogram({ ...MESSAGE_METRICS.deliveredSeconds, ...unregistered });
const received = new Counter({ ...MESSAGE_METRICS.received, ...unregistered });

/**
 * What becomes of messages, counted once for the process wherever it is recorded: by requests, engines' reports and
 * sweeps alike. A change that is undone with the transaction around it is counted all the same.
 */
export const messageMetrics = {
  register(registry: Registry): void {
    const all: Metric[] = [accepted, statuses, sentSeconds, deliveredSeconds, received];
    for (const metric of all) registry.registerMetric(metric);
  },

  accepted(type: string): void {
    accepted.inc({ type });
  },

  received(type: string): void {
    received.inc({ type });
  },

  /** A receipt may bring several at once. */
  advanced(before: Milestones, after: Milestones): void {
    const { sentAt, deliveredAt } = after;
    const reached = (at: 'sentAt' | 'deliveredAt' | 'readAt' | 'failedAt'): boolean =>
      before[at] === null && after[at] !== null;
    if (reached('sentAt')) {
      statuses.inc({ status: 'sent', code: '' });
      sentSeconds.observe(secondsBetween(after.scheduledFor ?? after.createdAt, sentAt!));
    }
    if (reached('deliveredAt')) {
      statuses.inc({ status: 'delivered', code: '' });
      if (sentAt) deliveredSeconds.observe(secondsBetween(sentAt, deliveredAt!));
    }
    if (reached('readAt')) statuses.inc({ status: 'read', code: '' });
    if (reached('failedAt')) statuses.inc({ status: 'failed', code: after.errorCode ?? 'internal' });
  },
};

/** Never below 0: clocks of two machines. */
function secondsBetween(from: Date, to: Date): number {
  return Math.max(0, (to.getTime() - from.getTime()) / 1000);
}
