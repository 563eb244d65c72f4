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
