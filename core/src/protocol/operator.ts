import { z } from 'zod';
import { InstanceResource } from '../resources/manifest.js';
import { PAIRING_METHODS } from '../resources/pairing.js';
import { PairingPhone, PasskeyPage } from '../resources/pairing-request.js';
import { INSTANCE_STATES } from '../states.js';

/**
 * The routes of the internal API for the operator: `POST {base}/operator/<route>`, authenticated by the operator's
 * token, which is not valid for engine routes. Ids are UUIDs without prefix.
 */
const uuid = () => z.uuid();
const time = () => z.iso.datetime();

/** Facts about an instance from the database; input of the operator's decision. The operator needs no phone number. */
export const InstanceFacts = z.object({
  id: uuid(),
  /** Changes with any other fact, except for the end of the lease, which each renewal moves. */
  digest: z.string().max(20),
  state: z.enum(INSTANCE_STATES),
  state_reason: z.string().nullable(),
  state_changed_at: time(),
  first_paired_at: time().nullable(),
  banned_until: time().nullable(),
  /** A pairing session or a logout request is open, so the instance needs an engine now. */
  pairing: z.boolean(),
  lease: z.object({ pod: z.string().nullable(), epoch: z.int(), expires_at: time().nullable() }),
});
export type InstanceFacts = z.infer<typeof InstanceFacts>;

export const REJECTION_REASONS = [
  'AccountNotAllowed',
  'AccountSuspended',
  'NameTaken',
  'InstanceLimitReached',
  'InvalidSpec',
  /** The instance was deleted through the API, so the resource must be deleted too. */
  'Deleted',
] as const;

const Projection = z.discriminatedUnion('accepted', [
  z.object({ accepted: z.literal(true), facts: InstanceFacts }),
  z.object({
    accepted: z.literal(false),
    reason: z.enum(REJECTION_REASONS),
    message: z.string(),
    /** The existing row, if any: a refused change does not disconnect the instance. */
    facts: InstanceFacts.nullish(),
  }),
]);
export type Projection = z.infer<typeof Projection>;

/**
 * Writes the resource into its row, found by uid, unless the row has a newer generation. Returns the facts of the row.
 * A new resource gets a row, or a reason why not.
 */
const project = { request: z.strictObject({ resource: InstanceResource }), response: Projection };

/**
 * For a resource that is being deleted: marks the row deleted, cancels its queue, removes its session keys. Idempotent.
 */
const remove = {
  request: z.strictObject({ uid: z.string() }),
  /** End of the lease of an engine that still runs; null without a holder. */
  response: z.object({ lease_expires_at: time().nullable() }),
};

/** Issues a token for one pod of an instance. It can acquire the lease until a newer token has. */
const issueToken = {
  request: z.strictObject({ instance_id: uuid(), pod: z.string().min(1).max(253) }),
  response: z.object({ token: z.string() }),
};

/** Reports that the container of the pod has exited, which frees its lease. */
const engineEnded = {
  request: z.strictObject({ instance_id: uuid(), pod: z.string() }),
  response: z.object({}),
};

/**
 * Pairing by a user with access to the cluster. `open` opens a session, or returns the open one; null only reads. The
 * response contains what to show, and no other secret of the session.
 */
const pair = {
  request: z.strictObject({
    instance_id: uuid(),
    open: z.strictObject({ method: z.enum(PAIRING_METHODS), phone: PairingPhone.nullable() }).nullable(),
  }),
  response: z.object({
    state: z.enum(INSTANCE_STATES),
    /** Whether a session is open. */
    open: z.boolean(),
    code: z.string().nullable(),
    code_expires_at: time().nullable(),
    /** Why the last session ended without a pairing. */
    error: z.string().nullable(),
    /** Set while the phone waits for a passkey: the page of the console that asks for it, if there is a console. */
    passkey: PasskeyPage.nullish(),
  }),
};

/** Reads the facts of many instances at once: of those whose digest is another one. */
const observe = {
  request: z.strictObject({
    ids: z.array(uuid()).max(1000),
    /** Known digests, in the order of the ids. */
    digests: z.array(z.string().max(20)).max(1000).optional(),
  }),
  response: z.object({
    instances: z.array(InstanceFacts),
    gone: z.array(uuid()),
    /** End of each lease in milliseconds since 1970, in the order of the ids. */
    leases_end_at: z.array(z.int().nullable()),
  }),
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
