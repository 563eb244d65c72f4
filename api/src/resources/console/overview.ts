import { z } from 'zod';
import { INSTANCE_STATES } from '@gwk/core/states';
import { idOut } from '@gwk/core/resources/common';

/** The state of an account at a glance. */
export const ATTENTION_REASONS = [
  'logged_out',
  'banned',
  'restricted',
  'queue_growing',
  'webhook_disabled',
  'webhook_failing',
] as const;

const count = () => z.number().int().min(0);
const rate = (description: string) =>
  z
    .number()
    .min(0)
    .max(1)
    .nullable()
    .meta({ description: `${description}; null: none.` });

export const TrafficPoint = z.object({
  start: z.iso.datetime(),
  sent: count(),
  failed: count(),
  received: count(),
});

export const OverviewOut = z.object({
  instances: z.record(z.enum(INSTANCE_STATES), count()),
  hours: z.array(TrafficPoint).meta({ description: 'The last 24 hours by hour, in UTC, oldest first.' }),
  days: z.array(TrafficPoint).meta({ description: 'The last 30 days by day, in UTC, oldest first.' }),
  delivery_rate: rate('Delivered of sent messages of the last 24 hours'),
  read_rate: rate('Read of sent messages of the last 24 hours'),
  webhook_success: rate('Succeeded of finished webhook deliveries of the last 24 hours'),
  attention: z
    .array(
      z.object({
        reason: z.enum(ATTENTION_REASONS),
        instance_id: idOut('instance').nullable(),
        endpoint_id: idOut('endpoint').nullable(),
        name: z.string().meta({ description: 'Name of the instance or URL of the endpoint.' }),
      }),
    )
    .meta({ description: 'At most 100 things that need a person.' }),
});
