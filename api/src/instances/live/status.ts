import { LiveStatus } from '@gwk/core/resources/instance';
import type { Instance } from '../../generated/prisma/client.js';
import type { Services } from '../../http/services.js';
import { isHeld } from './ask-engine.js';

/** (spec: LiveStatus) The state as the engine has it now; null where nobody answers in time. */
const DEADLINE_MS = 300;

export async function liveStatus(
  services: Services,
  row: Instance,
  lease: { holder: string | null; expiresAt: Date | null } | null,
): Promise<LiveStatus | null> {
  // Nobody holds the number: nobody would answer.
  if (!isHeld(lease)) return null;
  const reply = await services.live.ask(row, 'live', {}, DEADLINE_MS);
  if (!reply?.ok) return null;
  const status = LiveStatus.safeParse(reply.result);
  return status.success ? status.data : null;
}
