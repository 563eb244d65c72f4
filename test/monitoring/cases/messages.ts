import { quiet, type AlertCase } from './alert-case.js';

const failed = 'gwk_message_statuses_total{status="failed",code="timeout"}';
const sent = 'gwk_message_statuses_total{status="sent",code=""}';

export const MESSAGES: AlertCase[] = [
  {
    name: 'scheduled messages are not released',
    alert: 'GwkScheduledSendsOverdue',
    series: { 'gwk_scheduled_overdue_seconds{pod="w1"}': '0+60x20' },
    at: '12m',
    fires: [{ description: 'The oldest scheduled message is 12m 0s overdue.' }],
  },
  {
    name: 'a burst of scheduled messages is released within two minutes',
    alert: 'GwkScheduledSendsOverdue',
    series: { 'gwk_scheduled_overdue_seconds{pod="w1"}': '0 30 90 110 40 0x15' },
    at: '12m',
    ...quiet,
  },
  {
    name: 'an instance stalls',
    alert: 'GwkSendQueueDelayed',
    series: { 'gwk_send_stalled_age_seconds{pod="w1"}': '0 0+60x30' },
    at: '17m',
    fires: [{ description: 'An instance has sent and claimed nothing for 16m 0s.' }],
  },
  {
    name: 'the last messages of a campaign wait for an hour while one leaves each minute',
    alert: 'GwkSendQueueDelayed',
    series: {
      'gwk_send_queue_age_seconds{pod="w1"}': '0+60x60',
      'gwk_send_stalled_age_seconds{pod="w1"}': '55x60',
    },
    at: '60m',
    ...quiet,
  },
  {
    name: 'an instance stalls for eleven minutes',
    alert: 'GwkSendQueueDelayed',
    series: { 'gwk_send_stalled_age_seconds{pod="w1"}': '0+60x13 0x20' },
    at: '15m',
    ...quiet,
  },
  {
    name: 'one message in ten times out',
    alert: 'GwkSendsFailing',
    series: { [failed]: '0+10x30', [sent]: '0+90x30' },
    at: '25m',
    fires: [{ description: '10% of the messages that finished in the last 15 minutes failed.' }],
  },
  {
    name: 'messages fail because of their recipients',
    alert: 'GwkSendsFailing',
    series: {
      'gwk_message_statuses_total{status="failed",code="recipient_not_on_whatsapp"}': '0+50x30',
      [sent]: '0+50x30',
    },
    at: '25m',
    ...quiet,
  },
  {
    name: 'a single message fails at low traffic',
    alert: 'GwkSendsFailing',
    series: { [failed]: '0 1 1 1 1 1 1 1 1 1 1 1 1 1 1', [sent]: '0x14' },
    at: '14m',
    ...quiet,
  },
  {
    name: 'a file has not been prepared for half an hour',
    alert: 'GwkMediaPreparationDelayed',
    series: { 'gwk_preparation_age_seconds{pod="w1"}': '1800x10' },
    at: '6m',
    fires: [{ description: 'The oldest message has waited for 30m 0s.' }],
  },
  {
    name: 'a large file takes 14 minutes',
    alert: 'GwkMediaPreparationDelayed',
    series: { 'gwk_preparation_age_seconds{pod="w1"}': '0+60x14 0x20' },
    at: '20m',
    ...quiet,
  },
];
