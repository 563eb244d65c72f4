import { counter, histogram } from './metric.js';

/** From messages sent at once to messages delayed by pacing, or by an instance that is not connected. */
const JOURNEY_SECONDS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600];

/** Message metrics, counted by the program that records the change: `gwk api` or `gwk worker`. */
export const MESSAGE_METRICS = {
  accepted: counter(
    'gwk_messages_accepted_total',
    'Accepted messages, by type. Idempotent repeats do not count.',
    ['type'],
  ),
  statuses: counter(
    'gwk_message_statuses_total',
    'Outbound messages that became sent, delivered, read or failed. `code` is the failure code, empty for other statuses.',
    ['status', 'code'],
  ),
  sentSeconds: histogram(
    'gwk_message_sent_seconds',
    'Time from the acceptance of a message, or from its scheduled time, to the acknowledgement by the network.',
    JOURNEY_SECONDS,
  ),
  deliveredSeconds: histogram(
    'gwk_message_delivered_seconds',
    'Time from the acknowledgement of a message by the network to its delivery to a device of the recipient.',
    JOURNEY_SECONDS,
  ),
  received: counter(
    'gwk_messages_received_total',
    'Inbound messages stored, by type. Duplicates do not count.',
    ['type'],
  ),
  ignored: counter(
    'gwk_messages_ignored_total',
    'Inbound messages without an effect, by reason: no conversation (a status post or a channel), a vote in an unknown poll, a change of a message by somebody else than its author, or a rejected call whose text was refused.',
    ['reason'],
  ),
} as const;
