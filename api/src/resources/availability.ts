import { z } from 'zod';
import { INSTANCE_STATES } from '@gwk/core/states';
import { idOut } from '@gwk/core/resources/common';

/** Availability of a month. */
const DEFAULT_TIMEZONE = 'America/Sao_Paulo';

/** The operation validates `month` and `timezone` itself, because their problems have codes of their own. */
export const AvailabilityQuery = z.object({
  month: z.string().max(100).optional(),
  timezone: z.string().max(64).default(DEFAULT_TIMEZONE),
});

const percentage = () => z.number().min(0).max(100).nullable();

export const AvailabilityOut = z.object({
  instance_id: idOut('instance'),
  month: z
    .string()
    .regex(/^[0-9]{4}-[0-9]{2}$/)
    .meta({ examples: ['2026-11'] }),
  timezone: z.string(),
  period_start: z.iso.datetime(),
  period_end: z.iso.datetime(),
  uptime: percentage(),
  up_seconds: z.number().int().min(0),
  tracked_seconds: z.number().int().min(0),
  incidents: z.array(
    z.object({
      start: z.iso.datetime(),
      /** Null: still down. */
      end: z.iso.datetime().nullable(),
      duration_s: z.number().int().min(0),
      state: z.enum(INSTANCE_STATES),
      reason: z.string().nullable(),
    }),
  ),
  days: z.array(z.object({ date: z.iso.date(), uptime: percentage() })),
});
export type AvailabilityOut = z.infer<typeof AvailabilityOut>;
