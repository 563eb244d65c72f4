import { lowestUuidAt } from '@gwk/core/ids/ids';
import type { Language } from '@gwk/core/language';
import { PROBLEMS } from '@gwk/core/problems/problems';
import type { InstanceState } from '@gwk/core/states';
import { instanceEvent, openEventData } from '../../events/emit.js';
import type { Instance } from '../../generated/prisma/client.js';
import type { EventProducer, EventStream } from '../../http/respond.js';
import type { Services } from '../../http/services.js';
import { isPaired } from './sessions.js';
import { NOTHING_SEEN, stepStream, type Seen, type StreamEvent } from './stream-events.js';
import { codeOut, passkeyOut, qrOut, timeLeft } from './view.js';
import type { PairingState, Viewer } from './watch.js';
import { pairingFailure } from './reasons.js';

const CLOCKS_DIFFER_MS = 60_000;

/** Whether the viewer may read codes now; null: it may no longer access the instance. */
export type ReadAccess = () => Promise<Pick<Viewer, 'readsCodes'> | null>;

interface StreamReader {
  viewer: Viewer;
  /** As owner of a session (sessions.ts). */
  ownerName: string;
  readAccess: ReadAccess;
  language: Language;
}

/** Produces the events of a pairing stream in order, each with the data of the event type of that name. */
export function pairingStream(
  services: Services,
  row: Instance,
  { viewer, readAccess, language, ownerName }: StreamReader,
): EventProducer {
  const since = Date.now() - CLOCKS_DIFFER_MS;
  return async (out) => {
    let seen: Seen = { ...NOTHING_SEEN, unpaired: !isPaired(row.state as InstanceState) };
    for await (const now of services.pairings.watch(row.id, out.signal, viewer)) {
      const access = await readAccess();
      if (!access) return;
      const step = stepStream(seen, now);
      seen = step.seen;
      for (const event of step.events)
        await send(services, out, { event, now: now!, since, language, ownerName, ...access });
      if (step.end) return;
    }
  };
}

interface Sending {
  event: StreamEvent;
  now: PairingState;
  since: number;
  readsCodes: boolean;
  ownerName: string;
  language: Language;
}

async function send(services: Services, out: EventStream, sending: Sending): Promise<void> {
  const { event, now, since, readsCodes, language, ownerName } = sending;
  switch (event.event) {
    case 'qr':
      return out.send('qr', readsCodes ? await qrOut(event.code) : timeLeft(event.code));
    case 'code':
      return out.send('code', readsCodes ? codeOut(event.code) : timeLeft(event.code));
    case 'passkey':
    case 'passkey_code': {
      const isOwner = now.session?.owner?.name === ownerName;
      return out.send(event.event, passkeyOut(event.passkey, { readsCodes, isOwner }));
    }
    case 'paired':
      return out.send('paired', await pairedData(services, now, since));
    case 'connected': {
      const { accountId, instanceId, stateChangedAt, jid } = now;
      const subject = { accountId, instanceId };
      return out.send(
        'connected',
        instanceEvent('instance.connected', subject, stateChangedAt, { jid }).data,
      );
    }
    case 'error':
      return out.send('error', describeFailure(services, event.reason, language));
  }
}

function describeFailure({ config }: Services, reason: string, language: Language) {
  const { status, title } = PROBLEMS['pairing-failed'];
  const type = `${config.docsUrl ?? config.baseUrl}/problems/pairing-failed`;
  return { type, title, status, detail: pairingFailure(reason)[language] };
}

/** Reads the data of the pairing event, which was written in the same transaction as the state. */
async function pairedData({ db, sealer }: Services, now: PairingState, since: number): Promise<unknown> {
  const { accountId, instanceId, jid } = now;
  const event = await db.event.findFirst({
    where: { instanceId, type: 'instance.paired', id: { gte: lowestUuidAt(since) } },
    orderBy: { id: 'desc' },
  });
  if (event) return openEventData(sealer, accountId, event.dataSealed);
  const device = { jid: jid ?? '', business_name: null, platform: null };
  return instanceEvent('instance.paired', { accountId, instanceId }, now.stateChangedAt, device).data;
}
