import type { z } from 'zod';
import type { InstanceResource, InstanceSpec } from '../resources/manifest.js';
import type { PairingView } from '../resources/pairing-request.js';

export interface Place {
  namespace: string;
  name: string;
}

/**
 * Storage of Instance resources, which are the desired state of all instances. Its adapters are the Kubernetes API and,
 * on one machine, a file of the operator.
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

/** A resource with its pairing, which Kubernetes keeps in a Secret. */
export interface InstanceDetails {
  resource: InstanceResource;
  pairing: PairingView | null;
}

/** Operations of the local operator: `POST /desired-state/<operation>` with and without a body in JSON. */
export type DesiredStateOperation = 'list' | 'get' | 'create' | 'change' | 'delete';

export const DESIRED_STATE_PATH = '/desired-state/';
export const CONFLICT_STATUS = 409;
export const INVALID_STATUS = 422;

interface OperatorAddress {
  url: string;
  token: string;
  timeoutMs: number;
}

/** The resources of the operator on this machine. */
export class OperatorDesiredState implements DesiredState {
  readonly #operator: OperatorAddress;

  constructor(operator: OperatorAddress) {
    this.#operator = operator;
  }

  list(namespace: string | null): Promise<InstanceResource[]> {
    return this.#call('list', { namespace });
  }

  async get(place: Place): Promise<InstanceResource | null> {
    return (await this.details(place))?.resource ?? null;
  }

  details({ namespace, name }: Place): Promise<InstanceDetails | null> {
    return this.#call('get', { namespace, name });
  }

  create(resource: NewResource): Promise<InstanceResource> {
    return this.#call('create', resource);
  }

  change(resource: InstanceResource): Promise<InstanceResource> {
    return this.#call('change', resource);
  }

  async delete({ namespace, name }: Place): Promise<void> {
    await this.#call('delete', { namespace, name });
  }

  async #call<T>(operation: DesiredStateOperation, body: object): Promise<T> {
    const { url, token, timeoutMs } = this.#operator;
    const response = await fetch(new URL(`${DESIRED_STATE_PATH}${operation}`, url), {
      method: 'POST',
      redirect: 'error',
      signal: AbortSignal.timeout(timeoutMs),
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    }).catch((error: unknown) => {
      throw unavailable(`no answer from ${url}; is the gateway running?`, error);
    });
    const answer = (await response.json().catch((error: unknown) => {
      throw unavailable(`${url} gave no usable answer`, error);
    })) as T & { error?: string };
    if (response.ok) return answer;
    throw toError(response.status, answer.error ?? `${url} answered ${response.status}`);
  }
}

function unavailable(message: string, cause: unknown): DesiredStateUnavailable {
  return new DesiredStateUnavailable(message, { cause });
}

function toError(status: number, message: string): Error {
  if (status === CONFLICT_STATUS) return new ResourceConflict(message);
  if (status === INVALID_STATUS) return new ResourceInvalid(message);
  return new DesiredStateUnavailable(message);
}
