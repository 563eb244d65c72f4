import { quiet, type AlertCase } from './alert-case.js';

export const WEBHOOKS: AlertCase[] = [
  {
    name: 'deliveries to healthy endpoints are late',
    alert: 'GwkWebhookBacklog',
    series: { 'gwk_webhook_queue_age_seconds{pod="w1",endpoint_state="healthy"}': '300x10' },
    at: '6m',
    fires: [{ description: 'The oldest due delivery is 5m 0s late.' }],
  },
  {
    name: 'deliveries are late for a minute',
    alert: 'GwkWebhookBacklog',
    series: { 'gwk_webhook_queue_age_seconds{pod="w1",endpoint_state="healthy"}': '0 0 300 300 0 0 0' },
    at: '6m',
    ...quiet,
  },
  {
    name: 'deliveries to one failing endpoint are late for days',
    alert: 'GwkWebhookBacklog',
    series: {
      'gwk_webhook_queue_age_seconds{pod="w1",endpoint_state="failing"}': '90000x60',
      'gwk_webhook_queue_age_seconds{pod="w1",endpoint_state="healthy"}': '1x60',
    },
    at: '60m',
    ...quiet,
  },
  {
    name: 'more endpoints fail than work',
    alert: 'GwkWebhooksFailing',
    series: {
      'gwk_webhook_endpoints{pod="w1",state="failing"}': '12x30',
      'gwk_webhook_endpoints{pod="w1",state="enabled"}': '3x30',
    },
    at: '20m',
    fires: [{ description: '12 endpoints fail, more than work. Their deliveries are kept and retried.' }],
  },
  {
    name: 'half of the endpoints fail',
    alert: 'GwkWebhooksFailing',
    series: {
      'gwk_webhook_endpoints{pod="w1",state="failing"}': '12x30',
      'gwk_webhook_endpoints{pod="w1",state="enabled"}': '12x30',
    },
    at: '20m',
    ...quiet,
  },
  {
    name: 'the only endpoint is down for five hours',
    alert: 'GwkWebhooksFailing',
    series: {
      'gwk_webhook_endpoints{pod="w1",state="failing"}': '0x70 1x300 0x20',
      'gwk_webhook_endpoints{pod="w1",state="enabled"}': '1x70 0x300 1x20',
    },
    at: '365m',
    ...quiet,
  },
  {
    name: 'the only endpoint is down for over six hours',
    alert: 'GwkWebhooksFailing',
    series: {
      'gwk_webhook_endpoints{pod="w1",state="failing"}': '0x10 1x400',
      'gwk_webhook_endpoints{pod="w1",state="enabled"}': '1x10 0x400',
    },
    at: '390m',
    fires: [{ description: '1 endpoints fail, more than work. Their deliveries are kept and retried.' }],
  },
  {
    name: 'an endpoint was disabled ten minutes ago',
    alert: 'GwkWebhookEndpointDisabled',
    series: { 'gwk_webhook_endpoints{pod="w1",state="disabled_by_gwk"}': '3x30 4x60' },
    at: '40m',
    fires: [
      { description: '1 endpoints were disabled within the last hour. Their owners receive no webhooks.' },
    ],
  },
  {
    name: 'an endpoint was disabled, and then the worker was replaced',
    alert: 'GwkWebhookEndpointDisabled',
    series: {
      'gwk_webhook_endpoints{pod="w1",state="disabled_by_gwk"}': '3x30 4x5 _x40',
      'gwk_webhook_endpoints{pod="w2",state="disabled_by_gwk"}': '_x34 4x60',
    },
    at: '50m',
    fires: [
      { description: '1 endpoints were disabled within the last hour. Their owners receive no webhooks.' },
    ],
  },
  {
    name: 'an endpoint is enabled again, and one of two workers reads it first',
    alert: 'GwkWebhookEndpointDisabled',
    series: {
      'gwk_webhook_endpoints{pod="w1",state="disabled_by_gwk"}': '4x30 3x29',
      'gwk_webhook_endpoints{pod="w2",state="disabled_by_gwk"}': '4x31 3x28',
    },
    at: '31m',
    ...quiet,
  },
  {
    name: 'endpoints were disabled long ago',
    alert: 'GwkWebhookEndpointDisabled',
    series: { 'gwk_webhook_endpoints{pod="w1",state="disabled_by_gwk"}': '3x90' },
    at: '80m',
    ...quiet,
  },
];
