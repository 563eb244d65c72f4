import { ConnectionError, Gwk, GwkError } from '@gwk/client';
import i18next from 'i18next';
import createClient, { type Client, type Middleware } from 'openapi-fetch';
import type { paths } from '../generated/api';
import { ConsoleError } from './problem';

/** Token of the current session that each changing request carries. */
let csrfToken = '';
export const setCsrfToken = (token: string): void => {
  csrfToken = token;
};

let onUnauthorized = (): void => undefined;
/** Sets the action after an answer that the session has ended. */
export const setUnauthorizedHandler = (handler: () => void): void => {
  onUnauthorized = handler;
};

const SAFE = new Set(['GET', 'HEAD']);

/** Adds the headers of a request to an account, or to none (sign-in, profile). */
function addHeaders(request: Request, account: string | null): Request {
  request.headers.set('Accept-Language', i18next.language);
  if (account !== null) request.headers.set('X-Gwk-Account', account);
  if (!SAFE.has(request.method)) request.headers.set('X-CSRF-Token', csrfToken);
  return request;
}

/** Throws the problem of an error answer. A proxy may answer without one. */
async function checkAnswer(response: Response): Promise<void> {
  if (response.ok) return;
  const error = new ConsoleError((await response.json().catch(() => ({}))) as object, response);
  if (error.code === 'unauthorized') onUnauthorized();
  throw error;
}

/** The middleware of a client: headers, and errors as exceptions. */
const createMiddleware = (account: string | null): Middleware => ({
  onRequest: ({ request }) => addHeaders(request, account),
  onResponse: async ({ response }) => checkAnswer(response),
  onError: ({ error }) => (error instanceof GwkError ? error : new ConnectionError('', { cause: error })),
});

export type Api = Client<paths>;

const clients = new Map<string | null, Api>();

/** The client of the console's operations, for an account or for none. */
export function getClient(account: string | null): Api {
  let client = clients.get(account);
  if (!client) {
    client = createClient<paths>({ baseUrl: location.origin });
    client.use(createMiddleware(account));
    clients.set(account, client);
  }
  return client;
}

/**
 * The client of the public interface, with the session in place of a key. A change whose answer is lost is repeated with
 * its Idempotency-Key. People see a refusal at once if they had to wait longer for the next attempt.
 */
export function createGwk(account: string): Gwk {
  return new Gwk({
    baseUrl: location.origin,
    retries: 2,
    maxWait: 3,
    fetch: async (request) => {
      const response = await fetch(addHeaders(request, account));
      if (response.status === 401) onUnauthorized();
      return response;
    },
  });
}

/** The body of an answer. The middleware has thrown the errors. */
export async function takeData<T>(answer: Promise<{ data?: T }>): Promise<NonNullable<T>> {
  return (await answer).data as NonNullable<T>;
}
