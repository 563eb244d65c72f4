import type { AcquiredLease } from './lease.js';
import type { Logger } from '@gwk/core/process/log';
import type { Outcome } from '@gwk/core/protocol/engine';
import type { DriverContext, Receipt } from '../driver/driver.js';
import type { EngineMetrics } from '../metrics.js';
import type { IdleCollector } from '../small-heap.js';
import type { BatchSenders } from './batch-senders.js';
import type { InternalApiClient } from './client.js';

interface DriverContextOptions extends Pick<
  DriverContext,
  'clientVersions' | 'isLeased' | 'pod' | 'rejectsCalls'
> {
  acquired: AcquiredLease;
  api: InternalApiClient;
  senders: BatchSenders;
  metrics: EngineMetrics;
  idleCollector: IdleCollector;
  log: Logger;
}

/** The services of an engine for its driver: calls of the internal API, measured. */
export function createDriverContext(options: DriverContextOptions): DriverContext {
  const { acquired, api, senders, metrics, idleCollector, log } = options;
  return {
    instanceId: acquired.instance.id,
    epoch: acquired.epoch,
    pod: options.pod,
    log,
    session: {
      read: (type, keys) => api.readSession(type, keys),
      write: (entries) => {
        idleCollector.recordActivity();
        return metrics.timeStore(api.callUntilAnswered('session-write', { entries }));
      },
    },
    isLeased: options.isLeased,
    readFile: (messageId, read) => api.readFile(messageId, read),
    readSentMessage: async (wa_message_id) =>
      decodeBase64((await api.callUntilAnswered('sent', { wa_message_id })).built),
    readPoll: async (wa_message_id) => {
      const { built, secret = null } = await api.callUntilAnswered('sent', { wa_message_id, poll: true });
      return { built: decodeBase64(built), secret: decodeBase64(secret) };
    },
    storeNames: (names) => api.storeNames(names),
    storeUsernames: async (people) => void (await api.call('usernames', { people })),
    storeRestriction: async (until) =>
      void (await api.callUntilAnswered('restricted', { until: until?.toISOString() ?? null })),
    storeFile: (file, properties) => api.storeFile(file, properties),
    storeReceipt: async (receipt) => void (await senders.outcomes.push(toOutcome(receipt))),
    storeInbound: async (message) => {
      idleCollector.recordMessage();
      await senders.inbound.push(message);
      metrics.received.inc();
    },
    rejectsCalls: options.rejectsCalls,
    clientVersions: options.clientVersions,
    storeNotice: (notice) => senders.notices.push(notice),
    countIgnored: (reason) => metrics.ignored.inc({ reason }),
  };
}

function toOutcome({ waMessageId, at, ...fields }: Receipt): Outcome {
  return { kind: 'receipt', wa_message_id: waMessageId, at: at.toISOString(), ...fields };
}

const decodeBase64 = (text: string | null): Buffer | null =>
  text === null ? null : Buffer.from(text, 'base64');
