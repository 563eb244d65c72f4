import { Registry } from 'prom-client';
import { MessageMetrics, type Milestones } from './messages.js';

const at = (seconds: number) => new Date(Date.UTC(2026, 0, 1) + seconds * 1000);
const queued: Milestones = {
  createdAt: at(0),
  scheduledFor: null,
  sentAt: null,
  deliveredAt: null,
  readAt: null,
  failedAt: null,
  errorCode: null,
};
const sent = { ...queued, sentAt: at(2) };
const delivered = { ...sent, deliveredAt: at(5) };

/** Returns the increments by name and labels: counters, and sums and counts of histograms. */
async function counted(before: Milestones, after: Milestones): Promise<Record<string, number>> {
  const [metrics, registry] = [new MessageMetrics(), new Registry()];
  metrics.register(registry);
  metrics.advanced(before, after);
  const lines = (await registry.metrics()).matchAll(/^gwk_message_(\w+?)(?:\{(.*)\})? (\d+)$/gm);
  const wanted = [...lines].filter(([, name, labels, value]) => {
    return value !== '0' && !name!.endsWith('_bucket') && !labels?.includes('le=');
  });
  return Object.fromEntries(
    wanted.map(([, name, labels, value]) => [`${name} ${labels ?? ''}`, Number(value)]),
  );
}

const SENT = { 'statuses_total status="sent",code=""': 1 };
const DELIVERED = { 'statuses_total status="delivered",code=""': 1 };

test.each<[string, Milestones, Milestones, Record<string, number>]>([
  [
    'sent: counted from acceptance',
    queued,
    sent,
    { ...SENT, 'sent_seconds_sum ': 2, 'sent_seconds_count ': 1 },
  ],
  [
    'sent after scheduling: counted from its time',
    { ...queued, scheduledFor: at(1) },
    { ...sent, scheduledFor: at(1) },
    { ...SENT, 'sent_seconds_sum ': 1, 'sent_seconds_count ': 1 },
  ],
  [
    'delivered',
    sent,
    delivered,
    { ...DELIVERED, 'delivered_seconds_sum ': 3, 'delivered_seconds_count ': 1 },
  ],
  [
    'delivered before the outcome: both steps are counted',
    queued,
    delivered,
    {
      ...SENT,
      ...DELIVERED,
      'sent_seconds_sum ': 2,
      'sent_seconds_count ': 1,
      'delivered_seconds_sum ': 3,
      'delivered_seconds_count ': 1,
    },
  ],
  ['read', delivered, { ...delivered, readAt: at(9) }, { 'statuses_total status="read",code=""': 1 }],
  [
    'failed: counted with its error code',
    queued,
    { ...queued, failedAt: at(1), errorCode: 'expired' },
    { 'statuses_total status="failed",code="expired"': 1 },
  ],
  ['played, or returned to its queue: nothing', delivered, delivered, {}],
  [
    'sent by a network clock that is behind: 0 instead of a negative time',
    { ...queued, createdAt: at(4) },
    { ...sent, createdAt: at(4) },
    { ...SENT, 'sent_seconds_count ': 1 },
  ],
])('%s', async (_, before, after, expected) => {
  expect(await counted(before, after)).toEqual(expected);
});
