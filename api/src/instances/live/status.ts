import { LiveStatus } from '@gwk/core/resources/instance';
import type { Instance } from '../../generated/prisma/client.js';
import type { Services } from '../../http/services.js';
import { isHeld } from './ask-engine.js';

/** Reads the live status from the engine; null if it does not answer in time. */
const DEADLINE_MS = 300;

export async function liveStatus(
  services: Services,
  row: Instance,
  lease: { holder: string | null; expiresAt: Date | null } | null,
): Promise<LiveStatus | null> {
  // No engine holds the lease.
  if (!isHeld(lease)) return null;
  const reply = await services.live.ask(row, 'live', {}, DEADLINE_MS);
  if (!reply?.ok) return null;
  const status = LiveStatus.safeParse(reply.result);
  return status.success ? status.data : null;
}
