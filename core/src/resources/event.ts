import { z } from 'zod';
import { EVENT_TYPES, FILTERABLE_EVENT_TYPES } from '../events.js';
import { dateTime, idOut, idText, PageQuery } from './common.js';

/** Events. */
export const EventOut = z.object({
  id: idOut('event'),
  type: z.enum(EVENT_TYPES),
  instance_id: idOut('instance').nullable(),
  timestamp: z.iso.datetime(),
  data: z.record(z.string(), z.unknown()),
});
export type EventOut = z.infer<typeof EventOut>;

export const EventListQuery = PageQuery.extend({
  instance_id: idText().optional(),
  type: z.enum(FILTERABLE_EVENT_TYPES).optional(),
  since: dateTime().optional(),
});
