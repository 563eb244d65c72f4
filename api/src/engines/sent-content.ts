import type { EngineRequest, EngineResponse } from '@gwk/core/protocol/engine';
import { openBuilt } from '../messages/content.js';
import type { EngineCaller, InternalDeps } from './dependencies.js';
import { fence } from './fence.js';

/**
 * Reads the encoded form of a sent message while it is stored. A device of the contact that could not decrypt it requests it
 * again, possibly from a later engine.
 */
export async function readSent(
  { database, sealer }: InternalDeps,
  { instanceId }: EngineCaller,
  { epoch, holder, wa_message_id }: EngineRequest<'sent'>,
): Promise<EngineResponse<'sent'>> {
  const [row] = await database.$transaction(async (tx) => {
    await fence(tx, instanceId, { epoch, holder });
    return tx.$queryRaw<{ built_sealed: Uint8Array }[]>`
      SELECT c.built_sealed
      FROM gwk_messages_by_network_id(${instanceId}::uuid, ${[wa_message_id]}::text[]) AS m
      JOIN message_contents c ON c.message_id = m.id
      WHERE m.direction = 'outbound' AND c.built_sealed IS NOT NULL
      LIMIT 1`;
  });
  return { built: row ? openBuilt(sealer, instanceId, row.built_sealed).toString('base64') : null };
}
