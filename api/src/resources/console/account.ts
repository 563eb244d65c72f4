import { z } from 'zod';
import { PolicyOut, PolicyOverrides } from '../../policy/policy.js';
import { idOut } from '@gwk/core/resources/common';

const amount = () => z.number().int().min(0);

const Stored = {
  instances: amount().meta({ description: 'Without sandboxes.' }),
  media_bytes: amount(),
  media_files: amount(),
  event_bytes: amount(),
};

/** The account of a request of the console. */
export const AccountOut = z.object({
  id: idOut('account'),
  name: z.string(),
  requires_mfa: z.boolean(),
  suspended: z.boolean(),
  created_at: z.iso.datetime(),
  limits: z.object({
    ...Stored,
    requests_per_minute: amount().meta({ description: 'For each API key.' }),
  }),
  usage: z.object(Stored).nullable().meta({
    description: 'The worker counts events once an hour; null: the member is restricted to some instances.',
  }),
});
export type AccountOut = z.infer<typeof AccountOut>;

export const AccountUpdate = z.strictObject({ requires_mfa: z.boolean().optional() });

/** Replaces all overrides of the account. The operation validates them, so that its problems are those of a number. */
export const AccountPolicyUpdate = z.strictObject({
  policy: z
    .record(z.string(), z.unknown())
    .nullable()
    .meta({
      description: 'Overrides, as in the update of an instance.',
      examples: [{ messages_per_minute: 30 }],
    }),
});

export const AccountPolicyOut = z.object({ effective: PolicyOut, overrides: PolicyOverrides });
export type AccountPolicyOut = z.infer<typeof AccountPolicyOut>;
