import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { NetworkClient, type Person } from '@gwk/network/control/client';
import type { Whereabouts } from '@gwk/network/program';
import { QR, SimulatedInstance } from '../support/engine/simulated-instance.js';
import { report } from '../support/gateway/check-traffic.js';
import { baseEnvironment, GWK } from '../support/program.js';

/** The limit of the network for a group, with the number itself. */
const MEMBERS = 1_024;

const folder = mkdtempSync(join(tmpdir(), 'gwk-large-group-'));
let program: ChildProcess;
let network: NetworkClient;
let number: SimulatedInstance;
let phone: Person;

// The network has a process of its own: its phones decrypt slowly.
beforeAll(async () => {
  const ports = ['--port', '0', '--control-port', '0', '--media-port', '0'];
  const args = [GWK, 'network', 'start', '--forget', '--folder', folder, ...ports];
  program = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'], env: baseEnvironment() });
  const { url, root, control } = await new Promise<Whereabouts>((resolve) =>
    createInterface(program.stdout!).once('line', (line) => resolve(JSON.parse(line) as Whereabouts)),
  );
  network = new NetworkClient(control);
  number = new SimulatedInstance({ url, root: Buffer.from(root, 'hex') });
  phone = await network.phone('5511900000001', { name: 'Shop' });
  number.connect(QR);
  await phone.scan((await number.happens('qr')).code);
  await number.happens('opened');
});
afterAll(async () => {
  await number?.driver.close();
  program?.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

interface Query {
  stanza: { attrs: Record<string, string>; content: { tag: string; content: unknown }[] };
}

/** Number of people in each query for devices or keys. */
async function countAsked(after: number): Promise<number[]> {
  const stanzas = (await network.stanzas({ way: 'in', after })) as unknown as Query[];
  return stanzas.flatMap(({ stanza: { attrs, content } }) => {
    if (attrs['xmlns'] === 'encrypt') return countUsers(content[0]);
    if (attrs['xmlns'] !== 'usync') return [];
    const parts = content[0]?.content as Query['stanza']['content'];
    return countUsers(parts.find(({ tag }) => tag === 'list'));
  });
}

const countUsers = (list: { content: unknown } | undefined): number => (list!.content as unknown[]).length;

test(`sends to a group of ${MEMBERS} members in bounded queries, and later with none`, async () => {
  const crowd: Person[] = [];
  while (crowd.length < MEMBERS - 1)
    crowd.push(await network.contact(String(5_521_900_000_000 + crowd.length)));
  const group = await network.group('Crowd', [phone, ...crowd]);
  const figures: Record<string, number> = {};
  const asked: number[][] = [];
  for (const name of ['first', 'second']) {
    const { seq } = (await network.stanzas({ way: 'in' })).at(-1)!;
    const [began, { user, system }, writes] = [performance.now(), process.cpuUsage(), number.rows.writes];
    const { id } = await number.sendText(group, `${name} message`);
    const used = process.cpuUsage({ user, system });
    figures[`${name} message, ms`] = Math.round(performance.now() - began);
    figures[`${name} message, ms of processor time`] = Math.round((used.user + used.system) / 1_000);
    figures[`${name} message, writes of the session`] = number.rows.writes - writes;
    asked.push(await countAsked(seq));
    for (const person of [crowd[0]!, crowd.at(-1)!]) await person.receives({ id, group });
  }
  report(`a group of ${MEMBERS} members`, figures);
  const [first, second] = asked;
  expect(Math.max(...first!)).toBeLessThanOrEqual(100);
  expect(first).toHaveLength(22);
  expect(second).toEqual([]);
  expect(number.events.filter(({ kind }) => kind === 'closed')).toHaveLength(1);
  expect((await network.status()).violations).toEqual([]);
});
