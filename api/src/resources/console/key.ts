import { z } from 'zod';
import { SCOPES } from '@gwk/core/scopes';
import { dateTime, idOut, idText, text } from '@gwk/core/resources/common';

/** API keys, as the console manages them. */
export const KeyCreate = z.strictObject({
  name: text(0, 80).default(''),
  scopes: z
    .array(z.string())
    .max(100)
    .meta({
      examples: [['messages:send', 'messages:read']],
      description: 'Scopes that the role of the person includes.',
    }),
  instance_ids: z
    .array(idText())
    .max(1_000)
    .nullable()
    .default(null)
    .meta({ description: 'Instances that the key may use; null: all that the person may use.' }),
  expires_at: dateTime()
    .nullable()
    .default(null)
    .meta({ description: 'At least a minute and at most 10 years ahead; null: never.' }),
});

export const KeyOut = z.object({
  id: idOut('apiKey'),
  name: z.string(),
  scopes: z.array(z.enum(SCOPES)),
  instance_ids: z.array(idOut('instance')).nullable(),
  created_at: z.iso.datetime(),
  expires_at: z.iso.datetime().nullable(),
  revoked_at: z.iso.datetime().nullable(),
  last_used_at: z.iso.datetime().nullable().meta({ description: 'Exact to a minute; null: never used.' }),
});
export type KeyOut = z.infer<typeof KeyOut>;

export const CreatedKey = KeyOut.extend({
  api_key: z.string().meta({ description: 'Shown this once.', examples: ['gwk_live_...'] }),
});

/** A key that a program on a person's machine asks for (console/key-approvals.ts). */
export const KeyApprovalCreate = KeyCreate.omit({ expires_at: true }).extend({
  challenge: z
    .string()
    .regex(/^[0-9a-f]{64}$/)
    .meta({
      examples: ['7f83b1657ff1fc53b92dc18148a1d65dfc2d4b1fa3d677284addd200126d9069'],
      description: 'SHA-256 (hex) of the verifier, which the program keeps.',
    }),
  expires_in_days: z.int().min(1).max(366).default(90).meta({ description: 'Lifetime of the key.' }),
});

export const KeyApprovalOut = z.object({
  code: z.string().meta({ description: 'For the program, which redeems it once.' }),
  expires_at: z.iso.datetime().meta({ description: 'The program can redeem the code until then.' }),
});

export const KeyApprovalRedeem = z.strictObject({
  code: text(1, 100).meta({ examples: [`${'A'.repeat(43)}.90`] }),
  verifier: text(43, 128).meta({ examples: ['A'.repeat(43)] }),
});
