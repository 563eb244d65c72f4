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

/** The descriptions are what `kubectl explain` describe. */
const describe = <T extends z.ZodType>(schema: T, description: string): T => schema.meta({ description });

export const InstanceSpec = z
  .strictObject({
    account: describe(text(1, 80), 'Name of the account that owns the instance. Cannot change.'),
    displayName: describe(
      text(1, 80),
      'Name that consumers of the API see; unique in the account. The name of the resource when not set.',
    ).optional(),
    kind: describe(
      z.enum(INSTANCE_KINDS),
      'web: a real number, paired with a phone. sandbox: a simulated one. Cannot change.',
    ).default('web'),
    interactiveMode: describe(
      z.enum(INTERACTIVE_MODES),
      'How buttons and lists leave: native, native with a text menu where that fails, or as text.',
    ).default('native+text'),
    policy: describe(
      z.record(z.string(), z.unknown()),
      'Overrides of the policy of the account. What is not set comes from there.',
    ).optional(),
    suspended: describe(
      z.boolean(),
      'Whether the engine is stopped. The number stays paired, and queued messages wait and expire.',
    ).default(false),
    engine: describe(
      z.strictObject({
        profile: describe(
          z.string().min(1).max(63),
          "Name of a profile (image, resources, placement) in the operator's configuration.",
        ).default('default'),
      }),
      'How the engine is run.',
    ).optional(),
    logLevel: describe(
      z.enum(['debug', 'info', 'warn', 'error']),
      "Least severe log lines of the engine; the operator's when not set.",
    ).optional(),
  })
  .meta({ description: 'What is wanted of the phone number.' });
export type InstanceSpec = z.infer<typeof InstanceSpec>;

const CONDITION_TYPES = ['Ready', 'Accepted', 'EngineRunning', 'Paired', 'Connected'] as const;

export const Condition = z.object({
  type: describe(z.enum(CONDITION_TYPES), 'What is judged.'),
  status: describe(z.enum(['True', 'False', 'Unknown']), 'Whether it holds.'),
  reason: describe(z.string(), 'Why, in one word.'),
  message: describe(z.string(), 'Why, in a sentence.'),
  observedGeneration: describe(z.number().int(), 'The generation of the resource that was judged.'),
  lastTransitionTime: describe(z.string(), 'When the status last changed.'),
});
export type Condition = z.infer<typeof Condition>;

const EngineStatus = z.object({
  pod: describe(z.string(), 'Name of its pod.'),
  node: describe(z.string(), 'Name of the node that it runs on.').nullish(),
  version: describe(z.string(), 'Version of the engine.'),
  startedAt: describe(z.string(), 'When it was started.'),
});

export const InstanceResourceStatus = z
  .object({
    id: describe(z.string(), 'Id of the instance in the API.').optional(),
    state: describe(z.string(), 'State of the connection to the network.').optional(),
    phone: describe(z.string(), 'The number, once paired.').nullish(),
    jid: describe(z.string(), 'The number as the network writes it, once paired.').nullish(),
    observedGeneration: describe(z.number().int(), 'The generation that this status speaks of.').optional(),
    conditions: describe(
      z.array(Condition),
      'Ready sums up the others: the first that does not hold describe why.',
    ).default([]),
    engine: describe(EngineStatus, 'The engine that runs now.').nullish(),
    since: describe(z.string(), 'Since when the state is what it is.').optional(),
    lastError: describe(z.string(), 'Why the engine last ended, while none runs.').nullish(),
  })
  .meta({ description: 'What is so, as the operator sees it.' });
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
export const toResourceName = (publicId: string): string => publicId.replace('_', '-');
