import { z } from 'zod';
import { EVENT_TYPES, FILTERABLE_EVENT_TYPES } from '@gwk/core/events';
import { dateTime, idOut, idText, PageQuery } from '@gwk/core/resources/common';
import { EVENT_DATA } from '@gwk/core/resources/event-data';

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
