import type { Server } from 'node:https';
import type { Logger } from '@gwk/core/process/log';

/** Certificate and key of the internal listener (PEM). */
export interface Identity {
  cert: string;
  key: string;
}

type Text = () => string | undefined;

/** @throws Error if only one of them is set */
export function readIdentity(cert: Text, key: Text): Identity | undefined {
  const identity = { cert: cert(), key: key() };
  if ((identity.cert === undefined) !== (identity.key === undefined)) {
    throw new Error('GWK_API_INTERNAL_TLS_CERT and GWK_API_INTERNAL_TLS_KEY are set together or not at all');
  }
  return identity.cert === undefined ? undefined : (identity as Identity);
}

const LOOK_EVERY_MS = 15_000;

interface Followed {
  identity: Identity;
  read: () => Identity | undefined;
  log: Logger;
  everyMs?: number;
}

/**
 * Reloads a renewed certificate for new connections; open connections continue. If certificate and key do not match, because
 * the files changed between the two reads, the former pair stays until the next check.
 */
export function followIdentity(
  server: Server,
  { identity, read, log, everyMs = LOOK_EVERY_MS }: Followed,
): () => void {
  let served = identity;
  const look = (): void => {
    const now = read() ?? served;
    if (now.cert === served.cert && now.key === served.key) return;
    try {
      server.setSecureContext(now);
      served = now;
      log.info('internal API: certificate reloaded');
    } catch (error) {
      log.warn({ err: error }, 'internal API: new certificate not usable');
    }
  };
  const timer = setInterval(look, everyMs);
  timer.unref();
  return () => clearInterval(timer);
}
