import { z } from 'zod';
import { idOut } from '@gwk/core/resources/common';

/** Health score of an instance. */
export const HealthFactorOut = z.object({
  key: z.string(),
  label: z.string(),
  status: z.enum(['ok', 'attention', 'bad', 'info']),
  /** A ratio from 0 to 1, or a count. */
  value: z.number().nullable(),
  detail: z.string(),
  /** Points subtracted from the score. */
  penalty: z.number().int().min(0),
});

export const HealthOut = z.object({
  instance_id: idOut('instance'),
  score: z.number().int().min(0).max(100),
  risk: z.enum(['low', 'medium', 'high']),
  computed_at: z.iso.datetime(),
  warming_up: z.boolean(),
  warmup_ends_at: z.iso.datetime().nullable(),
  factors: z.array(HealthFactorOut),
  recommendations: z.array(z.string()),
});
export type HealthOut = z.infer<typeof HealthOut>;
