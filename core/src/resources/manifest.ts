import { z } from 'zod';
import { INSTANCE_KINDS, INTERACTIVE_MODES, OTHER_ACCOUNT_MODES } from '../states.js';
import { text } from './common.js';

/**
 * The Instance resource, which is the desired state of an instance: the manifest that users apply, and the resource
 * that a cluster stores. The CRD is generated from this schema; `kubectl explain` shows the descriptions.
 */
export const API_GROUP = 'gwk.dev';
export const API_VERSION = 'v1';
/** Versions that the cluster serves, the newest first. Their schemas are equal, so they need no conversion. */
export const SERVED_VERSIONS = [API_VERSION, 'v1alpha1'] as const;
export const MANIFEST_API_VERSION = `${API_GROUP}/${API_VERSION}` as const;
export const FINALIZER = 'gwk.dev/engine';
/** Annotation of an Instance: `true` keeps its engine at its version. */
export const PAUSE_UPGRADE_ANNOTATION = 'gwk.dev/pause-upgrade';
/** Label on the resources that the API creates: the id that it chose for the instance. */
export const ID_LABEL = 'gwk.dev/instance-id';

export const InstanceSpec = z
  .strictObject({
    account: text(1, 80).describe('Name of the account that owns the instance. Immutable.'),
    displayName: text(1, 80)
      .describe('Name of the instance in the API, unique in the account. Default: the name of the resource.')
      .optional(),
    kind: z
      .enum(INSTANCE_KINDS)
      .describe('web: a real phone number, paired with a phone. sandbox: a simulated one. Immutable.')
      .default('web'),
    interactiveMode: z
      .enum(INTERACTIVE_MODES)
      .describe('How to send buttons and lists: native, native with a numbered text menu, or text only.')
      .default('native+text'),
    onOtherAccount: z
      .enum(OTHER_ACCOUNT_MODES)
      .describe(
        'When a phone with another account than the last one scans a code: refuse it, or accept it and start the instance again.',
      )
      .default('refuse'),
    policy: z
      .record(z.string(), z.unknown())
      .describe('Overrides of the account policy. Keys that are not set come from the account.')
      .optional(),
    suspended: z
      .boolean()
      .describe('Stops the engine. The instance stays paired; queued messages wait, and expire.')
      .default(false),
    engine: z
      .strictObject({
        profile: z
          .string()
          .min(1)
          .max(63)
          .describe("Name of a profile (image, resources, placement) in the operator's configuration.")
          .default('default'),
      })
      .describe('How to run the engine.')
      .optional(),
    logLevel: z
      .enum(['debug', 'info', 'warn', 'error'])
      .describe('Minimum severity of the log lines of the engine. Default: that of the operator.')
      .optional(),
  })
  .describe('Desired state of the instance.');
export type InstanceSpec = z.infer<typeof InstanceSpec>;

/** The operator reads times of older versions leniently; the API server checks new ones. */
const TIME = z.string().meta({ format: 'date-time' });

const CONDITION_TYPES = ['Ready', 'Accepted', 'EngineRunning', 'Paired', 'Connected', 'UpToDate'] as const;

export const Condition = z.object({
  type: z.enum(CONDITION_TYPES).describe('Type of the condition.'),
  status: z.enum(['True', 'False', 'Unknown']).describe('Whether the condition holds.'),
  reason: z.string().describe('Machine-readable reason, in CamelCase.'),
  message: z.string().describe('Reason in one sentence.'),
  observedGeneration: z.number().int().describe('Generation of the resource to which the condition refers.'),
  lastTransitionTime: TIME.describe('When the status last changed.'),
});
export type Condition = z.infer<typeof Condition>;

const EngineStatus = z.object({
  pod: z.string().describe('Name of the pod.'),
  node: z.string().describe('Name of the node of the pod.').nullish(),
  version: z.string().describe('Version of the engine.'),
  startedAt: TIME.describe('When the engine started.'),
});

/** Has no phone number: the cluster's role `view` can read it. */
export const InstanceResourceStatus = z
  .object({
    id: z.string().describe('Id of the instance in the API.').optional(),
    state: z.string().describe('State of the connection to the network.').optional(),
    observedGeneration: z
      .number()
      .int()
      .describe('Generation of the resource to which the status refers.')
      .optional(),
    conditions: z
      .array(Condition)
      .describe(
        'Ready summarises the other conditions except UpToDate: its reason is that of the first one that does not hold.',
      )
      .default([]),
    engine: EngineStatus.describe('The running engine.').nullish(),
    since: TIME.describe('When the state began.').optional(),
    lastError: z.string().describe('Why the last engine exited, while none is running.').nullish(),
  })
  .describe('Current state, as observed by the operator.');
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

const ApiVersion = z
  .enum(SERVED_VERSIONS.map((version) => `${API_GROUP}/${version}` as const))
  .transform(() => MANIFEST_API_VERSION);

/** The fields of a new resource that its creator chooses. */
export const NewInstance = z.strictObject({
  metadata: ObjectMeta.pick({ name: true, namespace: true, labels: true, annotations: true }),
  spec: InstanceSpec,
});
export type NewInstance = z.infer<typeof NewInstance>;

/** The resource as a cluster stores it, with identity and generation. */
export const InstanceResource = z.object({
  apiVersion: ApiVersion,
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
