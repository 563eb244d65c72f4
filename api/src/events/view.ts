import { toPublicId } from '@gwk/core/ids/ids';
import type { EventType } from '@gwk/core/events';
import type { Sealer } from '@gwk/core/crypto/encryption';
import { mayPair, type Caller } from '../accounts/caller.js';
import type { EventOut } from '../resources/event.js';
import type { StoredEvent } from './after.js';
import { openEventData, removeCode } from './emit.js';

export function eventOut(sealer: Sealer, caller: Caller, row: Omit<StoredEvent, 'position'>): EventOut {
  const data = openEventData(sealer, caller.accountId, row.dataSealed);
  return {
    id: toPublicId('event', row.id),
    type: row.type as EventType,
    instance_id: row.instanceId === null ? null : toPublicId('instance', row.instanceId),
    timestamp: row.timestamp.toISOString(),
    data: row.type === 'instance.qr' && !mayPair(caller) ? removeCode(data) : data,
  };
}
