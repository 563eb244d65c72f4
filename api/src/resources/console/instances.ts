import { z } from 'zod';
import { INSTANCE_STATES } from '@gwk/core/states';
import { PageQuery, text } from '@gwk/core/resources/common';
import { HealthOut } from '../health.js';
import { InstanceOut } from '../instance.js';

/** The list of numbers, as the console shows it. */
export const MAX_COUNTED_QUEUE = 1_000;

export const ConsoleInstanceListQuery = PageQuery.extend({
  state: z.enum(INSTANCE_STATES).optional(),
  search: text(0, 80).optional().meta({ description: 'Part of the name or of the phone number, or an id.' }),
});

export const ConsoleInstanceOut = InstanceOut.omit({ live: true }).extend({
  restricted_until: z.iso.datetime().nullable(),
  health: HealthOut.pick({ score: true, risk: true }).meta({ description: 'Up to 5 minutes old.' }),
  queue: z
    .number()
    .int()
    .min(0)
    .max(MAX_COUNTED_QUEUE)
    .meta({ description: `Waiting messages, counted up to ${MAX_COUNTED_QUEUE}.` }),
  last_message_at: z.iso.datetime().nullable(),
});
export type ConsoleInstanceOut = z.infer<typeof ConsoleInstanceOut>;

export const ConsoleInstanceList = z.object({
  data: z.array(ConsoleInstanceOut),
  next_cursor: z.string().nullable(),
  states: z
    .record(z.enum(INSTANCE_STATES), z.number().int().min(0))
    .meta({ description: 'Instances by state, regardless of the filters.' }),
});
