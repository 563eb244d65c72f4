import { z } from 'zod';
import { INSTANCE_KINDS, INTERACTIVE_MODES } from '../states.js';
import { text } from './common.js';

/**
 * The Instance resource, which is the desired state of an instance: the manifest that users apply, and the resource
 * that a cluster stores. The CRD is generated from this schema.
 */
export const API_GROUP = 'gwk.dev';
export const API_VERSION = 'v1alpha1';
export const MANIFEST_API_VERSION = `${API_GROUP}/${API_VERSION}`;
export const FINALIZER = 'gwk.dev/engine';
/** Label on the resources that the API creates: the id that it chose for the instance. */
export const ID_LABEL = 'gwk.dev/instance-id';

/** `kubectl explain` shows the descriptions. */
const describe = <T extends z.ZodType>(schema: T, description: string): T => schema.meta({ description });

export const InstanceSpec = z
  .strictObject({
    account: describe(text(1, 80), 'Name of the account that owns the instance. Immutable.'),
    displayName: describe(
      text(1, 80),
      'Name of the instance in the API, unique in the account. Default: the name of the resource.',
    ).optional(),
    kind: describe(
      z.enum(INSTANCE_KINDS),
      'web: a real phone number, paired with a phone. sandbox: a simulated one. Immutable.',
    ).default('web'),
    interactiveMode: describe(
      z.enum(INTERACTIVE_MODES),
      'How to send buttons and lists: native, native with a numbered text menu, or text only.',
    ).default('native+text'),
    policy: describe(
      z.record(z.string(), z.unknown()),
      'Overrides of the account policy. Keys that are not set come from the account.',
    ).optional(),
    suspended: describe(
      z.boolean(),
      'Stops the engine. The instance stays paired; queued messages wait, and expire.',
    ).default(false),
    engine: describe(
      z.strictObject({
        profile: describe(
          z.string().min(1).max(63),
          "Name of a profile (image, resources, placement) in the operator's configuration.",
        ).default('default'),
      }),
      'How to run the engine.',
    ).optional(),
    logLevel: describe(
      z.enum(['debug', 'info', 'warn', 'error']),
      'Minimum severity of the log lines of the engine. Default: that of the operator.',
    ).optional(),
  })
  .meta({ description: 'Desired state of the instance.' });
export type InstanceSpec = z.infer<typeof InstanceSpec>;

const CONDITION_TYPES = ['Ready', 'Accepted', 'EngineRunning', 'Paired', 'Connected'] as const;

export const Condition = z.object({
  type: describe(z.enum(CONDITION_TYPES), 'Type of the condition.'),
  status: describe(z.enum(['True', 'False', 'Unknown']), 'Whether the condition holds.'),
  reason: describe(z.string(), 'Machine-readable reason, in CamelCase.'),
  message: describe(z.string(), 'Reason in one sentence.'),
  observedGeneration: describe(z.number().int(), 'Generation of the resource to which the condition refers.'),
  lastTransitionTime: describe(z.string(), 'When the status last changed.'),
});
export type Condition = z.infer<typeof Condition>;

const EngineStatus = z.object({
  pod: describe(z.string(), 'Name of the pod.'),
  node: describe(z.string(), 'Name of the node of the pod.').nullish(),
  version: describe(z.string(), 'Version of the engine.'),
  startedAt: describe(z.string(), 'When the engine started.'),
});

export const InstanceResourceStatus = z
  .object({
    id: describe(z.string(), 'Id of the instance in the API.').optional(),
    state: describe(z.string(), 'State of the connection to the network.').optional(),
    phone: describe(z.string(), 'Phone number, once paired.').nullish(),
    jid: describe(z.string(), 'Network id (JID) of the phone number, once paired.').nullish(),
    observedGeneration: describe(
      z.number().int(),
      'Generation of the resource to which the status refers.',
    ).optional(),
    conditions: describe(
      z.array(Condition),
      'Ready summarises the other conditions: its reason is that of the first one that does not hold.',
    ).default([]),
    engine: describe(EngineStatus, 'The running engine.').nullish(),
    since: describe(z.string(), 'When the state began.').optional(),
    lastError: describe(z.string(), 'Why the last engine exited, while none is running.').nullish(),
  })
  .meta({ description: 'Current state, as observed by the operator.' });
export type InstanceResourceStatus = z.infer<typeof InstanceResourceStatus>;

const RESOURCE_NAME = /^[a-z0-9]([-a-z0-9.]{0,61}[a-z0-9])?$/;

const ObjectMeta = z.object({
  name: z.string().regex(RESOURCE_NAME, 'a lowercase DNS name of at most 63 characters'),
  namespace: z.string().regex(RESOURCE_NAME).default('default'),
  uid: z.string().optional(),
  generation: z.number().int().optional(),
  resourceVersion: z.string().optional(),
  labels: z.record(z.string(), z.string()).optional(),
  annotations: z.record(z.string(), z.string()).optional(),
  finalizers: z.array(z.string()).optional(),
  creationTimestamp: z.string().optional(),
  deletionTimestamp: z.string().optional(),
});

/** The manifest that users apply. */
export const InstanceManifest = z.strictObject({
  apiVersion: z.literal(MANIFEST_API_VERSION),
  kind: z.literal('Instance'),
  metadata: ObjectMeta,
  spec: InstanceSpec,
  status: z.unknown().optional(),
});
export type InstanceManifest = z.infer<typeof InstanceManifest>;

/** The resource as a cluster stores it, with identity and generation. */
export const InstanceResource = z.object({
  apiVersion: z.literal(MANIFEST_API_VERSION),
  kind: z.literal('Instance'),
  metadata: ObjectMeta.required({
    uid: true,
    generation: true,
    resourceVersion: true,
    creationTimestamp: true,
  }),
  spec: InstanceSpec,
  status: InstanceResourceStatus.optional(),
});
export type InstanceResource = z.infer<typeof InstanceResource>;

/** @returns the name of a resource that the API creates: `ins-<hex>` for `ins_<hex>` */
export const toResourceName = (publicId: string): string => publicId.replace('_', '-');
