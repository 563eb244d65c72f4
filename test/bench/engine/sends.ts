import { sendTraffic } from '../../support/gateway/traffic.js';
import { until } from '../../support/wait.js';
import { median } from '../shared/statistics.js';
import { engineMetric, type Stage } from './stage.js';

export interface Load {
  conversations: number;
  perConversation: number;
}

export interface Sends {
  perSecond: number;
  /** Mean duration of a session write as the engine waits for it, in ms, and the number of writes. */
  storeMs: number;
  writes: number;
}

const STORE = 'gwk_engine_session_write_seconds';

/**
 * Measures the send rate of one engine, from the queue to the network's acknowledgement. Only messages sent after the
 * last acceptance count, because accepting uses the same CPU.
 */
export async function measureSends(stage: Stage, name: string, load: Load): Promise<Sends> {
  const { customer, gateway, instanceId } = stage;
  const { pid } = await gateway.engine();
  const writes = () => Promise.all([engineMetric(pid, `${STORE}_sum`), engineMetric(pid, `${STORE}_count`)]);
  const before = await writes();
  const traffic = await sendTraffic({ clients: customer.clients, instanceId, name, ...load });
  const accepted = Date.now();
  await untilAllSent(stage);
  const after = await writes();
  const messages = await customer.client.messages({ since: traffic.startedAt.toISOString() });
  const times = messages.flatMap(({ sent_at }) => (sent_at === null ? [] : [Date.parse(sent_at)]));
  if (times.length !== traffic.count) throw new Error(`${times.length} of ${traffic.count} were sent`);
  const from = Math.min(accepted, median(times));
  const counted = times.filter((time) => time > from);
  const count = after[1] - before[1];
  return {
    perSecond: counted.length / ((Math.max(...times) - from) / 1000),
    storeMs: ((after[0] - before[0]) / count) * 1000,
    writes: count,
  };
}

export async function untilAllSent({ customer: { client } }: Stage): Promise<void> {
  await until(
    async () => {
      const waiting = ['queued', 'sending'].map((status) => client.anyMessage({ status }));
      return !(await Promise.all(waiting)).includes(true);
    },
    { what: 'all messages are sent', everyMs: 200, timeoutMs: 3_600_000 },
  );
}
