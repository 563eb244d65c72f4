import { createHash, timingSafeEqual } from 'node:crypto';
import { ApiStatus } from '../cluster/local/api-status.js';
import type { Exchange } from './exchange.js';

/** @throws ApiStatus */
export function authorize({ request }: Exchange, token: string | undefined): void {
  if (token === undefined) {
    throw new ApiStatus(
      'Unauthorized',
      'this operator has no GWK_OPERATOR_LOCAL_TOKEN, so nobody can show it one',
    );
  }
  const given = /^Bearer (.+)$/i.exec(request.headers.authorization ?? '')?.[1] ?? '';
  const digest = (text: string) => createHash('sha256').update(text).digest();
  if (timingSafeEqual(digest(given), digest(token))) return;
  throw new ApiStatus('Unauthorized', 'the bearer token is missing or wrong');
}
