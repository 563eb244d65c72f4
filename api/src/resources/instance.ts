import { z } from 'zod';
import { INSTANCE_KINDS, INSTANCE_STATES, INTERACTIVE_MODES, OTHER_ACCOUNT_MODES } from '@gwk/core/states';
import { idOut, text } from '@gwk/core/resources/common';

/** Maximum sandboxes of an account. They do not count against the plan. */
export const MAX_SANDBOXES = 3;

/** Body to create an instance. */
export const InstanceCreate = z.strictObject({
  name: text(1, 80),
  interactive_mode: z.enum(INTERACTIVE_MODES).default('native+text'),
  /** Whether a phone with another account than the last one may link. */
  on_other_account: z.enum(OTHER_ACCOUNT_MODES).default('refuse'),
  kind: z.enum(INSTANCE_KINDS).default('web'),
});
export type InstanceCreate = z.infer<typeof InstanceCreate>;

/** parsePolicyOverrides validates `policy`, because its errors have codes of their own. */
export const InstanceUpdate = z.strictObject({
  name: text(1, 80).nullish(),
  interactive_mode: z.enum(INTERACTIVE_MODES).nullish(),
  on_other_account: z.enum(OTHER_ACCOUNT_MODES).nullish(),
  policy: z.record(z.string(), z.unknown()).nullish(),
});
export type InstanceUpdate = z.infer<typeof InstanceUpdate>;

export const LiveStatus = z.object({
  node_id: z.string(),
  state: z.string(),
  connected: z.boolean().nullable(),
  since: z.string().nullable(),
});
export type LiveStatus = z.infer<typeof LiveStatus>;

export const InstanceOut = z.object({
  id: idOut('instance'),
  name: z.string(),
  kind: z.enum(INSTANCE_KINDS),
  environment: z.string(),
  state: z.enum(INSTANCE_STATES),
  jid: z.string().nullable(),
  /** The other network id of the phone number; null until an engine has connected with it. */
  lid: z.string().nullable(),
  business_name: z.string().nullable(),
  interactive_mode: z.enum(INTERACTIVE_MODES),
  on_other_account: z.enum(OTHER_ACCOUNT_MODES),
  state_changed_at: z.iso.datetime(),
  created_at: z.iso.datetime(),
  live: LiveStatus.nullish(),
});
export type InstanceOut = z.infer<typeof InstanceOut>;
