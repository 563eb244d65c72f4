import type { ProblemBody } from '@gwk/core/problems/problems';
import type { Scope } from '@gwk/core/scopes';
import type { Operation } from '@gwk/api/http/operation';
import { mayCall } from '@gwk/api/openapi/permissions';
import { OPERATIONS } from '@gwk/api/public-api/operations';

/** Rights of an API key. */
export interface KeyRights {
  scopes: readonly Scope[];
  /** May use some instances only. */
  restricted?: boolean;
}

const ROUTES = OPERATIONS.map((operation) => {
  const pattern = operation.path.replaceAll(/\{\w+\}/g, '[^/]+');
  return { operation, route: new RegExp(`^${pattern}/?$`, 'i') };
});

/** Finds the operation that a request reaches. */
function findOperation(method: string, path: string): Operation | undefined {
  const wanted = method === 'HEAD' ? 'GET' : method;
  const [name = ''] = path.split('?');
  return ROUTES.find(({ operation, route }) => operation.method === wanted && route.test(name))?.operation;
}

/** Statuses of answers that reveal something of an operation: a result, a state or a check of the input. */
const BEYOND = (status: number): boolean => status < 300 || [404, 409, 412, 422].includes(status);
/** A path that the server cannot decode has no operation, whatever its form. */
const isDecodable = (path: string): boolean => {
  try {
    return decodeURIComponent(path.split('?')[0]!) !== '';
  } catch {
    return false;
  }
};

/** Compares an answer with docs/permissions.md. @returns what is wrong, or null */
export function findBreach(
  rights: KeyRights,
  request: { method: string; path: string },
  answer: { status: number; body: unknown },
): string | null {
  const operation = findOperation(request.method, request.path);
  if (!operation || !isDecodable(request.path)) return null;
  const code = (answer.body as ProblemBody | undefined)?.type?.split('/').at(-1);
  const isAllowed = mayCall(operation, rights);
  const key = JSON.stringify(rights);
  if (!isAllowed && BEYOND(answer.status)) return `${operation.name} answered ${answer.status} to ${key}`;
  return isAllowed && code === 'insufficient-scope' ? `${operation.name} refused ${key}` : null;
}
