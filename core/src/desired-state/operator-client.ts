import type { InstanceResource } from '../resources/manifest.js';
import type { PairingView } from '../resources/pairing-request.js';
import {
  DesiredStateUnavailable,
  ResourceConflict,
  ResourceInvalid,
  type DesiredState,
  type NewResource,
  type Place,
} from './desired-state.js';

/** An event with the number of its consecutive repetitions. */
export interface RecordedEvent {
  type: 'Normal' | 'Warning';
  /** CamelCase. */
  reason: string;
  message: string;
  first: string;
  last: string;
  count: number;
}

/** A resource with the data that Kubernetes keeps in other objects. */
export interface InstanceDetails {
  resource: InstanceResource;
  events: RecordedEvent[];
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

/** The folder of manifests, through the operator on this machine. */
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
