import { z } from 'zod';
import { DeliveryOut } from '../webhook.js';

/** Deliveries, as the console shows them. */
export const MessageDeliveryList = z.object({
  data: z.array(DeliveryOut.extend({ endpoint_url: z.string() })).meta({ description: 'At most 100.' }),
});

export const ConsoleDeliveryOut = DeliveryOut.extend({
  endpoint_url: z.string(),
  request: z
    .object({
      headers: z.record(z.string(), z.string()).meta({
        description:
          'As the next attempt would send them. The signature and the values of custom headers are hidden.',
      }),
      body: z.string().meta({
        description:
          'The link to a file is that of the event. Without `instances:write` it has no pairing code.',
      }),
    })
    .nullable()
    .meta({ description: 'Null: the event is older than its retention.' }),
  response: z.string().nullable().meta({
    description:
      'Start of the last answer of the receiver. Null for `instance.qr` without `instances:write`.',
  }),
});
export type ConsoleDeliveryOut = z.infer<typeof ConsoleDeliveryOut>;
