import { API_GROUP } from '@gwk/core/resources/manifest';

/** Errors in the form of a Kubernetes Status, so that the same clients can read both clusters. */
const REASONS = {
  BadRequest: 400,
  Unauthorized: 401,
  NotFound: 404,
  MethodNotAllowed: 405,
  AlreadyExists: 409,
  Conflict: 409,
  Expired: 410,
  RequestEntityTooLarge: 413,
  UnsupportedMediaType: 415,
  Invalid: 422,
  InternalError: 500,
  ServiceUnavailable: 503,
} as const;
type StatusReason = keyof typeof REASONS;

export interface Cause {
  reason: string;
  message: string;
  field: string;
}

export class ApiStatus extends Error {
  override name = 'ApiStatus';
  constructor(
    readonly reason: StatusReason,
    message: string,
    readonly details: { name?: string; causes?: Cause[] } = {},
  ) {
    super(message);
  }

  get code(): number {
    return REASONS[this.reason];
  }

  toJSON() {
    const { name, causes } = this.details;
    return {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message: this.message,
      reason: this.reason,
      details: {
        ...(name !== undefined && { name }),
        group: API_GROUP,
        kind: 'instances',
        ...(causes && { causes }),
      },
      code: this.code,
    };
  }
}

export const notFoundError = (name: string): ApiStatus =>
  new ApiStatus('NotFound', `instances.${API_GROUP} "${name}" not found`, { name });

export const alreadyExistsError = (name: string): ApiStatus =>
  new ApiStatus('AlreadyExists', `instances.${API_GROUP} "${name}" already exists`, { name });

export function invalidError(name: string, causes: Cause[]): ApiStatus {
  const list = causes.map(({ field, message }) => `${field}: ${message}`).join('; ');
  return new ApiStatus('Invalid', `Instance.${API_GROUP} "${name}" is invalid: ${list}`, { name, causes });
}
