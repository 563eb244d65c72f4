import { z } from 'zod';
import { idOut } from './common.js';

/** The account of a request of the console. */
export const AccountOut = z.object({
  id: idOut('account'),
  name: z.string(),
  requires_mfa: z.boolean(),
  suspended: z.boolean(),
  created_at: z.iso.datetime(),
});
export type AccountOut = z.infer<typeof AccountOut>;

export const AccountUpdate = z.strictObject({ requires_mfa: z.boolean().optional() });
