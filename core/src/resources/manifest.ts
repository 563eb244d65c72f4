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

export const InstanceSpec = z.strictObject({
  /** Name of the account that owns the instance. */
  account: text(1, 80),
  displayName: text(1, 80).optional(),
  kind: z.enum(INSTANCE_KINDS).default('web'),
  interactiveMode: z.enum(INTERACTIVE_MODES).default('native+text'),
  policy: z.record(z.string(), z.unknown()).optional(),
  suspended: z.boolean().default(false),
  engine: z.strictObject({ profile: z.string().min(1).max(63).default('default') }).optional(),
  logLevel: z.enum(['debug', 'info', 'warn', 'error']).optional(),
});
export type InstanceSpec = z.infer<typeof InstanceSpec>;

export const CONDITION_TYPES = ['Ready', 'Accepted', 'EngineRunning', 'Paired', 'Connected'] as const;

export const Condition = z.object({
  type: z.enum(CONDITION_TYPES),
  status: z.enum(['True', 'False', 'Unknown']),
  reason: z.string(),
  message: z.string(),
  observedGeneration: z.number().int(),
  lastTransitionTime: z.string(),
});
export type Condition = z.infer<typeof Condition>;

export const InstanceResourceStatus = z.object({
  id: z.string().optional(),
  state: z.string().optional(),
  jid: z.string().nullish(),
  observedGeneration: z.number().int().optional(),
  conditions: z.array(Condition).default([]),
  engine: z.object({ pod: z.string(), version: z.string(), startedAt: z.string() }).nullish(),
  since: z.string().optional(),
  lastError: z.string().nullish(),
});
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
