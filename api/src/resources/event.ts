import { z } from 'zod';
import { EVENT_TYPES, FILTERABLE_EVENT_TYPES } from '@gwk/core/events';
import { dateTime, idOut, idText, PageQuery } from '@gwk/core/resources/common';
import { pascalCase } from '@gwk/core/text/pascal-case';
import { EVENT_DATA } from '@gwk/core/resources/event-data';

const variants = EVENT_TYPES.map((type) =>
  z
    .object({
      id: idOut('event'),
      type: z.literal(type),
      instance_id: idOut('instance').nullable(),
      timestamp: z.iso.datetime(),
      data: EVENT_DATA[type],
    })
    .meta({ id: `${pascalCase(type)}Event` }),
);

/** Bodies of webhooks, by type. The header `webhook-id` names the event. */
export const WEBHOOKS = EVENT_TYPES.map((type) =>
  z
    .object({ type: z.literal(type), timestamp: z.iso.datetime(), data: EVENT_DATA[type] })
    .meta({ id: `${pascalCase(type)}Webhook` }),
);

export const WebhookOut = z.discriminatedUnion('type', WEBHOOKS as [(typeof WEBHOOKS)[number]]);

/** Events. */
export const EventOut = z.discriminatedUnion('type', variants as [(typeof variants)[number]]);
/** Stored data is not parsed. An earlier version may have written it. */
export type EventOut = Omit<z.infer<typeof EventOut>, 'data'> & { data: Record<string, unknown> };

const FILTERS = {
  instance_id: idText().optional(),
  type: z.enum(FILTERABLE_EVENT_TYPES).optional(),
};
const after = z.string().max(1_000).meta({
  description:
    'Reads forward, oldest first: after this `next_cursor` or id of a stream, from `now`, or from the `oldest` event.',
});

const MAX_WAIT_S = 30;

export const EventListQuery = PageQuery.extend({
  ...FILTERS,
  conversation: idText().optional().meta({ description: 'The events of its messages. Not with `after`.' }),
  since: dateTime().optional(),
  after: after.optional(),
  wait: z.coerce.number().int().min(0).max(MAX_WAIT_S).optional().meta({
    description: 'With `after`: the seconds to wait for an event if there is none.',
  }),
})
  .refine(({ after: place, cursor }) => place === undefined || cursor === undefined, {
    path: ['cursor'],
    message: 'not with `after`',
  })
  .refine(({ after: place, conversation }) => place === undefined || conversation === undefined, {
    path: ['conversation'],
    message: 'not with `after`',
  })
  .refine(({ after: place, wait }) => place !== undefined || wait === undefined, {
    path: ['wait'],
    message: 'only with `after`',
  });

export const EventStreamQuery = z.object({ ...FILTERS, after: after.optional() });
