import { z } from 'zod';
import { EVENT_TYPES, FILTERABLE_EVENT_TYPES } from '../events.js';
import { dateTime, idOut, idText, PageQuery } from './common.js';
import { EVENT_DATA } from './event-data.js';

const variants = EVENT_TYPES.map((type) =>
  z.object({
    id: idOut('event'),
    type: z.literal(type),
    instance_id: idOut('instance').nullable(),
    timestamp: z.iso.datetime(),
    data: EVENT_DATA[type],
  }),
);

/** Events. */
export const EventOut = z.discriminatedUnion('type', variants as [(typeof variants)[number]]);
/** Stored data is not parsed. An earlier version may have written it. */
export type EventOut = Omit<z.infer<typeof EventOut>, 'data'> & { data: Record<string, unknown> };

export const EventListQuery = PageQuery.extend({
  instance_id: idText().optional(),
  type: z.enum(FILTERABLE_EVENT_TYPES).optional(),
  since: dateTime().optional(),
});
