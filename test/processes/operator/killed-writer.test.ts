import type { ChildProcess } from 'node:child_process';
import type { OperatorDesiredState } from '@gwk/core/desired-state/desired-state';
import { FakeInternalApi, randomFrom } from '../../support/operator/fake-internal-api.js';
import { temporaryFolder } from '../../support/operator/folder.js';
import { applySpec, connectTo } from '../../support/operator/local-stage.js';
import { endProcess, spawnOperator } from '../../support/operator/spawn-operator.js';
import { pickPort } from '../../support/ports.js';
import { pause, until } from '../../support/wait.js';

/** Kills an operator during its writes to `instances.json`, again and again. */
const ROUNDS = 12;
const NAMES = Array.from({ length: 8 }, (_, i) => `n${i}`);
const seed = Number(process.env['SEED'] ?? Math.floor(Math.random() * 1e9));
const random = randomFrom(seed);

let folder: ReturnType<typeof temporaryFolder>;
let api: FakeInternalApi;
let client: OperatorDesiredState;
let start: () => ChildProcess;
let operator: ChildProcess | undefined;

beforeAll(async () => {
  folder = temporaryFolder();
  api = new FakeInternalApi(random);
  const internalUrl = await api.listen();
  const port = await pickPort();
  client = connectTo(`http://127.0.0.1:${port}`);
  start = () => spawnOperator({ folder: folder.path, internalUrl, port });
});

afterAll(async () => {
  operator?.kill('SIGKILL');
  await api.close();
  folder.remove();
});

/** Sequence numbers of the writes of each instance. */
const begun = new Map(NAMES.map((name) => [name, 0]));
const acknowledged = new Map(NAMES.map((name) => [name, 0]));
const countAcknowledged = () => [...acknowledged.values()].reduce((sum, count) => sum + count, 0);

/** Changes one instance until the operator is killed. */
async function writeUntilKilled(name: string): Promise<void> {
  for (;;) {
    const next = begun.get(name)! + 1;
    begun.set(name, next);
    const spec = { account: 'main', kind: 'sandbox', suspended: true, displayName: String(next) } as const;
    const isWritten = await applySpec(client, name, spec).then(
      () => true,
      () => false,
    );
    if (!isWritten) return;
    acknowledged.set(name, next);
  }
}

test(`loses no acknowledged write of a killed operator (SEED=${seed})`, async () => {
  for (let round = 0; round < ROUNDS; round++) {
    operator = start();
    const resources = await until(() => client.list(null), { what: 'the operator answers' });
    const found = new Map(resources.map(({ metadata, spec }) => [metadata.name, Number(spec.displayName)]));
    for (const name of NAMES) {
      expect(found.get(name) ?? 0).toBeGreaterThanOrEqual(acknowledged.get(name)!);
      expect(found.get(name) ?? 0).toBeLessThanOrEqual(begun.get(name)!);
    }
    const before = countAcknowledged();
    const writers = NAMES.map(writeUntilKilled);
    await until(() => countAcknowledged() > before + NAMES.length, { what: 'writes are acknowledged' });
    await pause(random() * 30);
    await endProcess(operator, 'SIGKILL');
    await Promise.all(writers);
  }
});
