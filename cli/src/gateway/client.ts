import { Gwk } from '@gwk/client';
import { CliError, findKind } from '../errors.js';

/** Address and API key of a gateway. */
export interface Access {
  url: string;
  key: string | null;
}

/**
 * A client whose errors name the address, never the key. A person repeats a command, so it does not.
 * @throws CliError
 */
export function createClient({ url, key }: Access): Gwk {
  // The error of fetch would print the key.
  if (key !== null && !/^[\x21-\x7e]+$/.test(key))
    throw new CliError('usage', 'The API key has a space, a line break or another character that no key has');
  return new Gwk({
    baseUrl: url,
    retries: 0,
    fetch: (request) => fetchFrom(url, request),
    ...(key !== null && { apiKey: key }),
  });
}

/** A redirect could lead the key elsewhere. @throws CliError if no gateway answers */
export async function fetchFrom(url: string, request: Request): Promise<Response> {
  const response = await fetch(request, { redirect: 'error' }).catch((error: unknown) => {
    const { cause, message } = error as Error;
    const reason = (cause as Error | undefined)?.message ?? message;
    throw new CliError('network', `${url} does not answer: ${reason}`, { cause: error });
  });
  const isProblem = response.headers.get('content-type')?.startsWith('application/problem+json');
  if (response.ok || isProblem) return response;
  const { status } = response;
  const address = request.url.split('?')[0];
  throw new CliError(
    findKind(status),
    `The gateway refused the request (${status})\n${address} is not an address of a gateway`,
  );
}

/** The first items of a list, page after page. */
export async function take<T>(items: AsyncIterable<T>, limit: number): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) {
    found.push(item);
    if (found.length === limit) break;
  }
  return found;
}
