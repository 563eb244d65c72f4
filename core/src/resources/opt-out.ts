import { z } from 'zod';
import { PageQuery, Username } from './common.js';

/** Opt-outs. */
const OPT_OUT_SOURCES = ['keyword', 'api', 'panel'] as const;
export type OptOutSource = (typeof OPT_OUT_SOURCES)[number];

export const OptOutPhone = z.string().regex(/^[0-9]{10,15}$/);

export const OptOutCreate = z.strictObject({ phone: OptOutPhone });

export const OptOutOut = z.object({
  phone: z.string().nullable(),
  contact_id: z.string().nullable(),
  username: Username.nullable(),
  source: z.enum(OPT_OUT_SOURCES),
  keyword: z.string().nullable(),
  instance_id: z.string().nullable(),
  /** `sandbox`: holds in the sandbox `instance_id` only. */
  scope: z.enum(['account', 'sandbox']),
  created_at: z.iso.datetime(),
});
export type OptOutOut = z.infer<typeof OptOutOut>;

/** `phone` is a part of the phone number. */
export const OptOutListQuery = PageQuery.extend({ phone: z.string().max(15).optional() });
