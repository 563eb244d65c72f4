import { z } from 'zod';
import { WebhookEndpointOut } from '../webhook.js';

/** Newest deliveries of an endpoint that count for its success rate. */
export const RATED_DELIVERIES = 1_000;

export const ConsoleEndpointOut = WebhookEndpointOut.extend({
  success_rate: z
    .number()
    .min(0)
    .max(1)
    .nullable()
    .meta({
      description: `Succeeded of the tried ones among the newest ${RATED_DELIVERIES} deliveries of the last 24 hours; null: none.`,
    }),
  last_error: z.string().nullable().meta({ description: 'Of the last failed attempt, exact to a minute.' }),
  last_error_at: z.iso.datetime().nullable(),
});
export type ConsoleEndpointOut = z.infer<typeof ConsoleEndpointOut>;

export const ConsoleEndpointList = z.object({ data: z.array(ConsoleEndpointOut) });
