import { z } from 'zod';
import { InstanceResource } from '../resources/manifest.js';
import { PAIRING_METHODS } from '../resources/pairing.js';
import { PairingPhone } from '../resources/pairing-request.js';
import { INSTANCE_STATES } from '../states.js';

/**
 * The internal port as the operator uses it: `POST {base}/operator/<route>`, authenticated by the operator's own
 * token, which opens no engine route. Ids are UUIDs without prefix.
 */
const uuid = () => z.uuid();
const time = () => z.iso.datetime();

/** What the rows say of an instance; input of the operator's decision. */
const InstanceFacts = z.object({
  id: uuid(),
  state: z.enum(INSTANCE_STATES),
  state_reason: z.string().nullable(),
  state_changed_at: time(),
  jid: z.string().nullable(),
  first_paired_at: time().nullable(),
  banned_until: time().nullable(),
  /** A pairing session is open, or a device is to be unlinked: an engine is wanted now. */
  pairing: z.boolean(),
  lease: z.object({ pod: z.string().nullable(), epoch: z.int(), expires_at: time().nullable() }),
});
export type InstanceFacts = z.infer<typeof InstanceFacts>;

export const REJECTION_REASONS = [
  'AccountNotAllowed',
  'NameTaken',
  'InstanceLimitReached',
  'InvalidSpec',
  /** The instance was deleted through the API: the resource is to be deleted too. */
  'Deleted',
] as const;

const Projection = z.discriminatedUnion('accepted', [
  z.object({ accepted: z.literal(true), facts: InstanceFacts }),
  z.object({
    accepted: z.literal(false),
    reason: z.enum(REJECTION_REASONS),
    message: z.string(),
    /** The row that the resource has all the same: a change that is refused does not take a number off the air. */
    facts: InstanceFacts.nullish(),
  }),
]);
export type Projection = z.infer<typeof Projection>;

/**
 * Writes the resource into its row (keyed by uid; an older generation than the row's changes nothing) and returns
 * what the rows say. A resource not yet seen gets a row, or a reason why not.
 */
const project = { request: z.strictObject({ resource: InstanceResource }), response: Projection };

/** The resource is being deleted: the row is marked deleted, its queue canceled, its session keys removed. Repeatable. */
const remove = {
  request: z.strictObject({ uid: z.string() }),
  /** When the lease of a still running engine ends; null when nobody holds it. */
  response: z.object({ lease_expires_at: time().nullable() }),
};

/** A token for one pod of one instance; it can acquire until a newer one has. */
const issueToken = {
  request: z.strictObject({ instance_id: uuid(), pod: z.string().min(1).max(253) }),
  response: z.object({ token: z.string() }),
};

/** The operator has seen the pod's container end: nobody else may be waiting for its lease. */
const engineEnded = {
  request: z.strictObject({ instance_id: uuid(), pod: z.string() }),
  response: z.object({}),
};

/**
 * Somebody with rights in the cluster wants a phone paired: `open` opens a session, or finds the one that is open;
 * null only looks. What there is to show comes with it, never the session's other secrets.
 */
const pair = {
  request: z.strictObject({
    instance_id: uuid(),
    open: z.strictObject({ method: z.enum(PAIRING_METHODS), phone: PairingPhone.nullable() }).nullable(),
  }),
  response: z.object({
    state: z.enum(INSTANCE_STATES),
    /** A session is open. */
    open: z.boolean(),
    code: z.string().nullable(),
    code_expires_at: time().nullable(),
    /** Why the last session ended without a phone. */
    error: z.string().nullable(),
  }),
};

/** Facts of many instances at once, for those whose engine may be unneeded or unseen. */
const observe = {
  request: z.strictObject({ ids: z.array(uuid()).max(1000) }),
  response: z.object({ instances: z.array(InstanceFacts) }),
};

export const OPERATOR_ROUTES = {
  project,
  remove,
  'issue-token': issueToken,
  'engine-ended': engineEnded,
  observe,
  pair,
} as const;
export type OperatorRoute = keyof typeof OPERATOR_ROUTES;
export type OperatorRequest<R extends OperatorRoute> = z.input<(typeof OPERATOR_ROUTES)[R]['request']>;
export type OperatorResponse<R extends OperatorRoute> = z.infer<(typeof OPERATOR_ROUTES)[R]['response']>;
