import type { z } from 'zod';
import type { InstanceResource, InstanceSpec } from '../resources/manifest.js';

export interface Place {
  namespace: string;
  name: string;
}

/**
 * Storage of Instance resources, which are the desired state of all instances. Its adapters are the Kubernetes API and,
 * on one machine, the folder of manifests, whose only writer is the operator.
 */
export interface DesiredState {
  /** Null lists all namespaces. */
  list(namespace: string | null): Promise<InstanceResource[]>;
  get(place: Place): Promise<InstanceResource | null>;
  /** @throws ResourceInvalid, and ResourceConflict if it exists */
  create(resource: NewResource): Promise<InstanceResource>;
  /**
   * Writes the spec, labels and annotations of a resource that was read before.
   * @throws ResourceInvalid, and ResourceConflict if it has changed since or no longer exists
   */
  change(resource: InstanceResource): Promise<InstanceResource>;
  /** Starts the deletion; no effect if the resource does not exist. */
  delete(place: Place): Promise<void>;
}

export interface NewResource {
  metadata: Place & { labels?: Record<string, string>; annotations?: Record<string, string> };
  spec: z.input<typeof InstanceSpec>;
}

/** The resource exists already, or has changed since it was read. */
export class ResourceConflict extends Error {
  override name = 'ResourceConflict';
}

/** The message names every wrong field. */
export class ResourceInvalid extends Error {
  override name = 'ResourceInvalid';
}

/** There was no usable answer, so whether a write took effect is unknown. */
export class DesiredStateUnavailable extends Error {
  override name = 'DesiredStateUnavailable';
}
