import { z } from 'zod';
import { EVENT_TYPES } from '@gwk/core/events';
import { DELIVERY_STATUSES } from '@gwk/core/states';
import { idOut, idText, PageQuery, text } from '@gwk/core/resources/common';

/** Webhook endpoints and deliveries: maximum endpoints of an account. */
export const MAX_ENDPOINTS = 10;

/** Headers that gwk sets itself, or that frame or route the request. */
const RESERVED_HEADER =
  /^(?:webhook-.*|proxy-.*|connection|content-(?:encoding|length|type)|expect|host|keep-alive|te|trailer|transfer-encoding|upgrade|user-agent)$/;
const MAX_HEADERS = 10;

/**
 * Headers added to each call of an endpoint, for receivers behind a gateway (for example `Authorization`). Stored encrypted;
 * responses show only the names.
 */
const CustomHeaders = z
  .record(
    z.string().regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}$/, { message: 'not a header name' }),
    z.string().regex(/^[\x21-\x7e](?:[\x20-\x7e]{0,1998}[\x21-\x7e])?$/, {
      message: '1 to 2000 printable ASCII characters, without spaces at the ends',
    }),
  )
  .superRefine((headers, ctx) => {
    const names = Object.keys(headers).map((name) => name.toLowerCase());
    const issue = (path: string[], message: string) => ctx.addIssue({ code: 'custom', path, message });
    if (names.length > MAX_HEADERS) issue([], `at most ${MAX_HEADERS} headers`);
    Object.keys(headers).forEach((name, index) => {
      if (RESERVED_HEADER.test(names[index]!)) issue([name], 'gwk sets this header itself');
      if (names.indexOf(names[index]!) < index) issue([name], 'must differ from the others');
    });
  });

/** The address guard validates the URL, because its errors are `invalid-webhook-url`. */
export const WebhookEndpointCreate = z.strictObject({
  url: text(1, 2083),
  event_types: z.array(z.enum(EVENT_TYPES)).max(EVENT_TYPES.length).default([]),
  instance_ids: z.array(idText()).max(1000).default([]),
  description: text(0, 500).default(''),
  headers: CustomHeaders.default({}),
});
export type WebhookEndpointCreate = z.infer<typeof WebhookEndpointCreate>;

/** Null means unchanged. */
export const WebhookEndpointUpdate = z.strictObject({
  url: text(1, 2083).nullish(),
  event_types: z.array(z.enum(EVENT_TYPES)).max(EVENT_TYPES.length).nullish(),
  instance_ids: z.array(idText()).max(1000).nullish(),
  description: text(0, 500).nullish(),
  enabled: z.boolean().nullish(),
  /** Replaces all headers. Needed to call another origin, which must not receive them by mistake. */
  headers: CustomHeaders.nullish(),
});
export type WebhookEndpointUpdate = z.infer<typeof WebhookEndpointUpdate>;

/** Why gwk disabled an endpoint: `gone` means that it answered 410, `failing` that it failed for five days. */
const DISABLE_REASONS = ['gone', 'failing'] as const;
export type DisableReason = (typeof DISABLE_REASONS)[number];

export const WebhookEndpointOut = z.object({
  id: idOut('endpoint'),
  url: z.string(),
  event_types: z.array(z.enum(EVENT_TYPES)),
  instance_ids: z.array(idOut('instance')),
  description: z.string(),
  header_names: z.array(z.string()),
  enabled: z.boolean(),
  /** Null while enabled, and if it was disabled through the API. */
  disabled_reason: z.enum(DISABLE_REASONS).nullable(),
  disabled_at: z.iso.datetime().nullable(),
  created_at: z.iso.datetime(),
  updated_at: z.iso.datetime(),
  /** Only in the response to the creation. */
  secret: z.string().optional(),
});
export type WebhookEndpointOut = z.infer<typeof WebhookEndpointOut>;

export const DeliveryOut = z.object({
  id: idOut('delivery'),
  endpoint_id: idOut('endpoint'),
  event_id: idOut('event'),
  event_type: z.enum(EVENT_TYPES),
  status: z.enum(DELIVERY_STATUSES),
  attempts: z.number().int(),
  next_attempt_at: z.iso.datetime().nullable(),
  last_status_code: z.number().int().nullable(),
  last_error: z.string().nullable(),
  last_latency_ms: z.number().int().nullable(),
  created_at: z.iso.datetime(),
  delivered_at: z.iso.datetime().nullable(),
});
export type DeliveryOut = z.infer<typeof DeliveryOut>;

export const DeliveryListQuery = PageQuery.extend({ status: z.enum(DELIVERY_STATUSES).optional() });

/** Previous secrets sign deliveries too, the latest of them until `previous_expires_at`. */
export const SecretRotationOut = z.object({
  secret: z.string(),
  previous_expires_at: z.iso.datetime(),
});
export type SecretRotationOut = z.infer<typeof SecretRotationOut>;

/** An invalid date is not compared. `Date.parse` needs 10 ms for some texts of 1 MB. */
const comparableTime = () => z.iso.datetime({ offset: true, abort: true });

/** Retries the failed deliveries created from `since` to `until`, both inclusive; `until` is now by default. */
export const RetryFailed = z
  .strictObject({ since: comparableTime(), until: comparableTime().nullish() })
  .refine(({ since, until }) => !until || Date.parse(until) >= Date.parse(since), {
    path: ['until'],
    message: 'must not be before since',
  });
export type RetryFailed = z.infer<typeof RetryFailed>;

export const RetryFailedOut = z.object({ retried: z.number().int() });
export type RetryFailedOut = z.infer<typeof RetryFailedOut>;
