import { counter, histogram } from './metric.js';

/** From a text that leaves at once to one that is paced, or waits for its number to be connected. */
const JOURNEY_SECONDS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600];

/** What becomes of messages: of whichever program recorded it, so of `gwk api` and of `gwk worker`. */
export const MESSAGE_METRICS = {
  accepted: counter({
    name: 'gwk_messages_accepted_total',
    help: 'Messages accepted, by type; repetitions of a request are not counted.',
    labelNames: ['type'],
  }),
  statuses: counter({
    name: 'gwk_message_statuses_total',
    help: 'Outbound messages that were sent, delivered, read or failed; `code` is that of the failure, else empty.',
    labelNames: ['status', 'code'],
  }),
  sentSeconds: histogram({
    name: 'gwk_message_sent_seconds',
    help: 'From the acceptance of a message, or the time that it was scheduled for, until the network took it.',
    buckets: JOURNEY_SECONDS,
  }),
  deliveredSeconds: histogram({
    name: 'gwk_message_delivered_seconds',
    help: 'From when the network took a message until it reached a device of its recipient.',
    buckets: JOURNEY_SECONDS,
  }),
  received: counter({
    name: 'gwk_messages_received_total',
    help: 'Inbound messages recorded, by type; repetitions are not counted.',
    labelNames: ['type'],
  }),
} as const;
