import { toPublicId } from '@gwk/core/ids';
import type { InstanceOut, LiveStatus } from '@gwk/core/resources/instance';
import type { InstanceKind, InstanceState, InteractiveMode } from '@gwk/core/states';
import type { Instance } from '../generated/prisma/client.js';

/** Public form of an instance. `live` is absent if it was not requested or the engine did not answer. */
export function instanceOut(row: Instance, live?: LiveStatus | null): InstanceOut {
  return {
    id: toPublicId('instance', row.id),
    name: row.name,
    kind: row.kind as InstanceKind,
    environment: row.environment,
    state: row.state as InstanceState,
    jid: row.jid,
    business_name: row.businessName,
    interactive_mode: row.interactiveMode as InteractiveMode,
    state_changed_at: row.stateChangedAt.toISOString(),
    created_at: row.createdAt.toISOString(),
    ...(live && { live }),
  };
}
