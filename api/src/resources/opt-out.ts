import { z } from 'zod';
import { PERSON_ID } from '@gwk/core/ids/recipients';
import { PageQuery, Username } from '@gwk/core/resources/common';

/** Opt-outs. */
const OPT_OUT_SOURCES = ['keyword', 'api', 'panel'] as const;
export type OptOutSource = (typeof OPT_OUT_SOURCES)[number];

const Phone = z.string().regex(/^[0-9]{10,15}$/);
const PersonId = z
  .string()
  .regex(PERSON_ID, 'must be the network id of a person')
  .meta({ examples: ['101234567890123@lid'] });

/** The last segment of the path of an opt-out. */
export const OptOutName = z.union([Phone, PersonId]);

/** `phone`: the opt-out follows the phone number. `contact`: it stays with the person. */
export const OptOutCreate = z
  .strictObject({ phone: Phone.nullish(), contact: PersonId.nullish() })
  .refine(({ phone, contact }) => ((phone ?? null) === null) !== ((contact ?? null) === null), {
    path: ['phone'],
    message: 'exactly one of phone and contact is required',
  })
  .meta({ examples: [{ phone: '5511987654321' }] });
export type OptOutCreate = z.infer<typeof OptOutCreate>;

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

/** `phone` is a part of the phone number, `contact` any network id of the person. */
export const OptOutListQuery = PageQuery.extend({
  phone: z.string().max(15).optional(),
  contact: PersonId.optional(),
});
