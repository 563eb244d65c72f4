import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual, promisify } from 'node:util';
import { SharedGateway } from './shared-gateway.js';
import { joinGateway } from './shared-stage.js';
import { pickPort } from '../support/ports.js';
import { baseEnvironment, ROOT } from '../support/program.js';
import { readerEnvironment, normalizeShape, readSteps, readPageSteps, type Step } from '../support/readme.js';
import { until } from '../support/wait.js';

/** The fields of `seen` that `shown` has. */
const shownFields = (seen: unknown, shown: unknown): unknown =>
  Object.fromEntries(
    Object.keys(shown as object).map((key) => [key, (seen as Record<string, unknown>)[key]]),
  );

const RECEIVER_PORT = '9000';
const run = promisify(execFile);

interface WalkThrough {
  page: string;
  steps: () => Step[];
  /** README.md shows the relevant fields, docs/walkthrough.md shows whole responses. */
  whole: boolean;
}

const PAGES: WalkThrough[] = [
  { page: 'README.md', steps: () => readSteps('Walk-through'), whole: false },
  { page: 'docs/walkthrough.md', steps: () => readPageSteps('walkthrough.md'), whole: true },
];

/**
 * Runs every command of the page and compares the output with the one shown. Replaces only values that differ from
 * run to run: ids, the webhook secret and the port of the receiver.
 */
describe.each(PAGES)('the walk-through of $page', ({ page, steps: stepsOfWalk, whole }) => {
  const folder = mkdtempSync(join(tmpdir(), 'gwk-user-'));
  let port: string;
  let receiver: ChildProcess | undefined;
  let received = '';
  /** Assignments typed so far. */
  let variables = '';
  const answered = new Map<string, string>();

  beforeAll(async () => {
    const gateway = SharedGateway.get();
    const customer = await joinGateway(gateway, whole ? 'walkthrough' : 'readme');
    port = String(await pickPort());
    mkdirSync(join(folder, '.local'), { recursive: true });
    const access = { base_url: gateway.urls[0], api_key: customer.key.api_key };
    writeFileSync(join(folder, '.local/gwk.json'), JSON.stringify(access));
    symlinkSync(join(ROOT, 'examples'), join(folder, 'examples'));
  });
  afterAll(() => {
    receiver?.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  });

  function filledIn(command: string): string {
    return command
      .replaceAll(RECEIVER_PORT, port)
      .replace(/\b(ins|msg|evt|whe)_[0-9a-f]{32}\b/g, (id, kind: string) => answered.get(kind) ?? id)
      .replace(/whsec_[A-Za-z0-9+/=]+/, () => answered.get('whsec')!);
  }

  function remember(output: string): void {
    for (const kind of ['ins', 'msg', 'whe']) {
      const id = new RegExp(`"id": ?"(${kind}_[0-9a-f]{32})"`).exec(output)?.[1];
      if (id !== undefined) answered.set(kind, id);
    }
    const secret = /whsec_[A-Za-z0-9+/=]+/.exec(output)?.[0];
    if (secret !== undefined) answered.set('whsec', secret);
  }

  async function type(command: string): Promise<string> {
    const { stdout } = await run('sh', ['-c', `set -e\n${variables}\n${command}`], {
      cwd: folder,
      env: readerEnvironment(),
    });
    remember(stdout);
    return stdout;
  }

  function startReceiver(command: string): void {
    const [program, ...args] = command.split(' ');
    receiver = spawn(program === 'node' ? process.execPath : program!, args, {
      cwd: folder,
      env: baseEnvironment(),
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    receiver.stdout!.on('data', (chunk: Buffer) => (received += chunk.toString('utf8')));
  }

  const shapeOfLines = (text: string) => text.trim().split('\n').map(shapeOfLine);
  /** Lines of the receiver end in JSON, headers of a response do not. */
  function shapeOfLine(line: string): unknown {
    const at = line.indexOf('{');
    if (at === -1) return normalizeShape(line.trim());
    return [normalizeShape(line.slice(0, at)), normalizeShape(JSON.parse(line.slice(at)))];
  }

  /** Repeats a read until its output matches: changes may appear later. */
  async function expectOutput({ command, output }: Step): Promise<void> {
    const shown = normalizeShape(JSON.parse(output!));
    const typed = filledIn(command);
    const isRead = !typed.includes(' -d ');
    let seen: unknown;
    const matches = async () => {
      seen = normalizeShape(JSON.parse(await type(typed)));
      return !isRead || isDeepStrictEqual(whole ? seen : shownFields(seen, shown), shown);
    };
    await until(matches, { what: command, everyMs: 200 }).catch(() => undefined);
    if (whole) expect(seen).toEqual(shown);
    else expect(seen).toMatchObject(shown as object);
  }

  async function expectHeaders({ command, output }: Step): Promise<void> {
    const seen = await type(filledIn(command));
    for (const line of output!.split('\n')) expect(seen.toLowerCase()).toContain(line.trim().toLowerCase());
  }

  async function follow(step: Step): Promise<void> {
    const { command, output } = step;
    const assignments = command.split('\n').every((line) => /^[A-Z]+=/.test(line));
    if (command === 'make run') return; // the shared gateway is already running
    if (assignments) variables += `\n${filledIn(command)}`;
    else if (command.includes('webhook-receiver')) startReceiver(filledIn(command));
    else if (output?.startsWith('{')) await expectOutput(step);
    else await expectHeaders(step);
  }

  test('every command prints what the page shows', async () => {
    const steps = stepsOfWalk();
    expect(steps.length).toBeGreaterThan(whole ? 8 : 5);
    for (const step of steps) await follow(step);

    const shown = steps.find(({ command }) => command.includes('webhook-receiver'))?.output;
    expect(typeof shown).toBe(whole ? 'string' : 'undefined');
    if (!shown) return;
    const wanted = shapeOfLines(shown).map((line) => JSON.stringify(line));
    const lines = () => shapeOfLines(received).map((line) => JSON.stringify(line));
    await until(() => wanted.every((line) => lines().includes(line)), {
      what: `the receiver prints what ${page} shows`,
    }).catch(() => undefined);
    expect(lines().sort()).toEqual(wanted.sort());
  });
});
