import { z } from 'zod';
import { INSTANCE_KINDS, INTERACTIVE_MODES } from '../states.js';
import { text } from './common.js';

/**
 * The Instance resource as people write it and as clusters keep it (design: the Instance resource is the desired
 * state). The CRD is generated from this schema.
 */
export const API_GROUP = 'gwk.dev';
export const API_VERSION = 'v1alpha1';
export const MANIFEST_API_VERSION = `${API_GROUP}/${API_VERSION}`;
export const FINALIZER = 'gwk.dev/engine';
/** Set by the API on the resources that it creates: the id it chose before the resource existed. */
export const ID_LABEL = 'gwk.dev/instance-id';

/** The descriptions are what `kubectl explain` says. */
const says = <T extends z.ZodType>(schema: T, description: string): T => schema.meta({ description });

export const InstanceSpec = z
  .strictObject({
    account: says(text(1, 80), 'Name of the account that owns the instance. Cannot change.'),
    displayName: says(
      text(1, 80),
      'Name that consumers of the API see; unique in the account. The name of the resource when not set.',
    ).optional(),
    kind: says(
      z.enum(INSTANCE_KINDS),
      'web: a real number, paired with a phone. sandbox: a simulated one. Cannot change.',
    ).default('web'),
    interactiveMode: says(
      z.enum(INTERACTIVE_MODES),
      'How buttons and lists leave: native, native with a text menu where that fails, or as text.',
    ).default('native+text'),
    policy: says(
      z.record(z.string(), z.unknown()),
      'Overrides of the policy of the account. What is not set comes from there.',
    ).optional(),
    suspended: says(
      z.boolean(),
      'Whether the engine is stopped. The number stays paired, and queued messages wait and expire.',
    ).default(false),
    engine: says(
      z.strictObject({
        profile: says(
          z.string().min(1).max(63),
          "Name of a profile (image, resources, placement) in the operator's configuration.",
        ).default('default'),
      }),
      'How the engine is run.',
    ).optional(),
    logLevel: says(
      z.enum(['debug', 'info', 'warn', 'error']),
      "Least severe log lines of the engine; the operator's when not set.",
    ).optional(),
  })
  .meta({ description: 'What is wanted of the phone number.' });
export type InstanceSpec = z.infer<typeof InstanceSpec>;

export const CONDITION_TYPES = ['Ready', 'Accepted', 'EngineRunning', 'Paired', 'Connected'] as const;

export const Condition = z.object({
  type: says(z.enum(CONDITION_TYPES), 'What is judged.'),
  status: says(z.enum(['True', 'False', 'Unknown']), 'Whether it holds.'),
  reason: says(z.string(), 'Why, in one word.'),
  message: says(z.string(), 'Why, in a sentence.'),
  observedGeneration: says(z.number().int(), 'The generation of the resource that was judged.'),
  lastTransitionTime: says(z.string(), 'When the status last changed.'),
});
export type Condition = z.infer<typeof Condition>;

const RunningEngine = z.object({
  pod: says(z.string(), 'Name of its pod.'),
  node: says(z.string(), 'Name of the node that it runs on.').nullish(),
  version: says(z.string(), 'Version of the engine.'),
  startedAt: says(z.string(), 'When it was started.'),
});

export const InstanceResourceStatus = z
  .object({
    id: says(z.string(), 'Id of the instance in the API.').optional(),
    state: says(z.string(), 'State of the connection to the network.').optional(),
    phone: says(z.string(), 'The number, once paired.').nullish(),
    jid: says(z.string(), 'The number as the network writes it, once paired.').nullish(),
    observedGeneration: says(z.number().int(), 'The generation that this status speaks of.').optional(),
    conditions: says(
      z.array(Condition),
      'Ready sums up the others: the first that does not hold says why.',
    ).default([]),
    engine: says(RunningEngine, 'The engine that runs now.').nullish(),
    since: says(z.string(), 'Since when the state is what it is.').optional(),
    lastError: says(z.string(), 'Why the engine last ended, while none runs.').nullish(),
  })
  .meta({ description: 'What is so, as the operator sees it.' });
export type InstanceResourceStatus = z.infer<typeof InstanceResourceStatus>;

const RESOURCE_NAME = /^[a-z0-9]([-a-z0-9.]{0,61}[a-z0-9])?$/;

export const ObjectMeta = z.object({
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

/** What people apply. */
export const InstanceManifest = z.strictObject({
  apiVersion: z.literal(MANIFEST_API_VERSION),
  kind: z.literal('Instance'),
  metadata: ObjectMeta,
  spec: InstanceSpec,
  status: z.unknown().optional(),
});
export type InstanceManifest = z.infer<typeof InstanceManifest>;

/** What a cluster holds: identity and generation are set. */
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

/** `ins-<hex>` for `ins_<hex>`: the name of a resource that the API creates. */
export const resourceNameOf = (publicId: string): string => publicId.replace('_', '-');
