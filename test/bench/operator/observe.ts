import { createLogger } from '@gwk/core/process/log';
import { OperatorClient } from '@gwk/core/protocol/internal-client';
import { API_GROUP, API_VERSION, type InstanceResource } from '@gwk/core/resources/manifest';
import { createInternalApiClient } from '@gwk/operator/controller/internal-api-client';
import { Observer } from '@gwk/operator/controller/observer';
import { Projections } from '@gwk/operator/controller/projections';
import { pause } from '../../support/wait.js';
import { setting } from '../shared/table.js';
import { ACCOUNT, BenchGateway } from './gateway.js';
import { Load } from './load.js';

/**
 * Measures what INSTANCES (default 10,000) connected instances cost between operator and API at rest: the observation of
 * all, and the resync of each within 300 s. The operator's part runs in this process, beside a real `gwk api`.
 */
const COUNT = setting('INSTANCES', 10_000);
const REST_SECONDS = setting('REST_SECONDS', 60);
const RESYNC_SECONDS = 300;
const WARM_UP_MS = 10_000;
const AT_ONCE = 16;
const NAMESPACE = 'bench';

export async function observeMany(say: (line: string) => void): Promise<void> {
  const gateway = await BenchGateway.start(NAMESPACE);
  const { operatorToken: token } = gateway.settings;
  const client = new OperatorClient({ baseUrl: gateway.internalUrl, token, timeoutMs: 60_000 });
  const projections = new Projections(createInternalApiClient(client));
  const load = () => new Load({ operator: process.pid, ...gateway.pids });
  let rounds = 0;
  const observer = new Observer({
    projections,
    outageMs: Infinity,
    log: createLogger('bench', 'error'),
    starting: new Set(),
    changed: () => void rounds++,
    outageBegan: () => undefined,
    outageEnded: () => undefined,
  });
  try {
    await gateway.insertConnected(COUNT);
    const first = load();
    await project(projections, 0, COUNT);
    say(`${COUNT} known resources projected: CPU: ${first.describe()}`);
    observer.startClock();
    observer.start();
    await pause(WARM_UP_MS);
    const began = rounds;
    const observation = load();
    await pause(REST_SECONDS * 1000);
    const done = rounds - began;
    const cost = (name: string) => ((1000 * observation.seconds(name)) / done).toFixed(0);
    say(`observation of ${COUNT}: ${(done / REST_SECONDS).toFixed(2)} rounds/s; ${describe(observation)}`);
    say(`  a round takes ${cost('operator')} ms of CPU in the operator and ${cost('API')} ms in the API`);
    const rest = load();
    await resync(projections);
    say(`with the resync: ${describe(rest)}`);
  } finally {
    observer.stop();
    client.close();
    await gateway.stop();
  }
}

const describe = (load: Load): string =>
  `operator and API ${load.share('operator', 'API').toFixed(1)} % of a core (goal: 20 %): ${load.shares()}; API ${load.memory('API')}`;

/** As the controller does it: a part of the resources each second. */
async function resync(projections: Projections): Promise<void> {
  const step = COUNT / RESYNC_SECONDS;
  for (let second = 0; second < REST_SECONDS; second++) {
    const [from, to] = [Math.floor(second * step), Math.floor((second + 1) * step)];
    for (let i = from; i < to; i++) projections.expire(`n${i}`);
    await Promise.all([project(projections, from, to), pause(1000)]);
  }
}

async function project(projections: Projections, from: number, to: number): Promise<void> {
  let next = from;
  const work = async (): Promise<void> => {
    while (next < to) {
      const name = `n${next++}`;
      const { kind, behind } = await projections.project(`${NAMESPACE}/${name}`, build(name));
      if (kind !== 'accepted' || behind) throw new Error(`${name} is ${kind}`);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
}

const build = (name: string): InstanceResource => ({
  apiVersion: `${API_GROUP}/${API_VERSION}`,
  kind: 'Instance',
  metadata: {
    name,
    namespace: NAMESPACE,
    uid: name,
    generation: 1,
    resourceVersion: '1',
    creationTimestamp: new Date().toISOString(),
  },
  spec: {
    account: ACCOUNT,
    kind: 'web',
    interactiveMode: 'native+text',
    onOtherAccount: 'refuse',
    suspended: false,
  },
});
